# src/kernel/cpu/*.tier.c is compiled once per CPU tier, with WEIR_TIER naming it: v2, v3 and v4 of x86-64, or base on
# other processors. A tier file must give its functions names that hold the tier, and choose nothing at run time itself.
# Multiply and add may contract here (and only here).

set(weir_tier_objects)

# GCC 12 aligns the frames that AddressSanitizer keeps for uses after return to 32 bytes, and stores whole vectors of 64 in
# them (GCC bug 110027).
set(tier_sanitizer_options)
if(WEIR_SANITIZE STREQUAL "address" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(tier_sanitizer_options --param=asan-use-after-return=0)
endif()

function(weir_tier tier)
    add_library(weir_tier_${tier} OBJECT ${tier_sources})
    target_link_libraries(weir_tier_${tier} PRIVATE weir_flags)
    target_compile_definitions(weir_tier_${tier} PRIVATE WEIR_TIER=${tier} ${weir_release_definitions})
    target_compile_options(weir_tier_${tier} PRIVATE ${weir_warnings} ${weir_strict_warnings}
        -ffp-contract=fast -fno-trapping-math ${tier_sanitizer_options} ${ARGN})
    add_dependencies(weir_tier_${tier} weir_messages_made)
    set(weir_tier_objects ${weir_tier_objects} $<TARGET_OBJECTS:weir_tier_${tier}> PARENT_SCOPE)
endfunction()

if(tier_sources)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
        weir_tier(v2 -march=x86-64-v2)
        weir_tier(v3 -march=x86-64-v3)
        weir_tier(v4 -march=x86-64-v4 -mprefer-vector-width=512)
    else()
        weir_tier(base)
    endif()
endif()
