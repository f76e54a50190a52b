# Tests in C: tests/<folder>/test_*.c and tests/unit/<room>/test_*.c become <build>/tests/<name>, with cmocka and the
# tests' library (counters and assertions on), so they may include what stands in src/. scripts/test runs them all,
# and the tests in shell and Python besides; ctest runs these.
#
# A comment in the first 30 lines of a test may say how it wants to run:  test: slow, alone, timeout=300

add_custom_target(all_tests)
enable_testing()
pkg_check_modules(cmocka QUIET cmocka)
if(NOT WEIR_TESTS OR NOT cmocka_FOUND)
    if(WEIR_TESTS)
        message(STATUS "cmocka is not installed (Debian package libcmocka-dev): no tests in C")
    endif()
    return()
endif()

add_library(weir_test_flags INTERFACE)
target_include_directories(weir_test_flags INTERFACE tests)
target_compile_options(weir_test_flags INTERFACE ${weir_warnings} -Wno-unused-parameter)
target_compile_definitions(weir_test_flags INTERFACE WEIR_COUNTERS=1
    WEIR_TEST_SOURCE_DIR="${CMAKE_SOURCE_DIR}" WEIR_TEST_BUILD_DIR="${CMAKE_BINARY_DIR}")
target_link_libraries(weir_test_flags INTERFACE weir_flags)

file(GLOB support_sources CONFIGURE_DEPENDS tests/support/*.c)
set(support)
if(support_sources)
    set(support weir_test_support)
    add_library(weir_test_support STATIC EXCLUDE_FROM_ALL ${support_sources})
    target_link_libraries(weir_test_support PRIVATE weir_test_flags)
    add_dependencies(weir_test_support weir_messages_made)
endif()

file(GLOB test_sources CONFIGURE_DEPENDS tests/*/test_*.c tests/unit/*/test_*.c)
foreach(source IN LISTS test_sources)
    cmake_path(GET source STEM LAST_ONLY name)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/tests OUTPUT_VARIABLE relative)
    cmake_path(GET relative PARENT_PATH folder)
    string(REPLACE "/" ";" labels "${folder}")

    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(${name} PRIVATE ${support} weir_counters weir_test_flags ${cmocka_LINK_LIBRARIES}
        Threads::Threads ${weir_libraries} m)
    add_dependencies(${name} weir_messages_made)
    add_dependencies(all_tests ${name})

    file(STRINGS ${source} wish LIMIT_COUNT 30 REGEX "test:.*(slow|alone|timeout=)")
    set(timeout 120)
    if(wish MATCHES "timeout=([0-9]+)")
        set(timeout ${CMAKE_MATCH_1})
    endif()
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout}
        ENVIRONMENT "WEIR_SOURCE_DIR=${CMAKE_SOURCE_DIR};WEIR_BUILD_DIR=${CMAKE_BINARY_DIR}")
    if(wish MATCHES "alone")
        set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
    endif()
endforeach()

# Programs that the tests against TensorFlow call; against the shared library, as a user's would be.
file(GLOB interop_sources CONFIGURE_DEPENDS tests/interop/*.c)
foreach(source IN LISTS interop_sources)
    cmake_path(GET source STEM LAST_ONLY name)
    add_executable(interop_${name} EXCLUDE_FROM_ALL ${source})
    set_target_properties(interop_${name} PROPERTIES OUTPUT_NAME ${name}
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/interop)
    target_compile_definitions(interop_${name} PRIVATE _GNU_SOURCE)
    target_compile_options(interop_${name} PRIVATE ${weir_warnings})
    target_link_libraries(interop_${name} PRIVATE weir_shared)
    add_dependencies(all_tests interop_${name})
endforeach()
