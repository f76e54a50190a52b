# src/format/proto/<name>.proto becomes <build>/generated/proto/<name>.pb-c.{h,c}; include it as "proto/<name>.pb-c.h".
# The .proto files import each other by bare name: import "tensor.proto".

set(proto_dir ${CMAKE_SOURCE_DIR}/src/format/proto)
set(generated_dir ${CMAKE_BINARY_DIR}/generated/proto)
file(MAKE_DIRECTORY ${generated_dir})
file(GLOB proto_files CONFIGURE_DEPENDS ${proto_dir}/*.proto)

set(generated_sources)
set(generated_headers)
foreach(proto IN LISTS proto_files)
    cmake_path(GET proto STEM LAST_ONLY name)
    add_custom_command(
        OUTPUT ${generated_dir}/${name}.pb-c.c ${generated_dir}/${name}.pb-c.h
        COMMAND ${protoc_c} --proto_path=${proto_dir} --c_out=${generated_dir} ${proto}
        DEPENDS ${proto_files}
        COMMENT "Making proto/${name}.pb-c.h"
        VERBATIM)
    list(APPEND generated_sources ${generated_dir}/${name}.pb-c.c)
    list(APPEND generated_headers ${generated_dir}/${name}.pb-c.h)
endforeach()
add_custom_target(weir_messages_made DEPENDS ${generated_headers} ${generated_sources})

set(weir_message_objects)
if(generated_sources)
    add_library(weir_messages OBJECT ${generated_sources})
    add_dependencies(weir_messages weir_messages_made)
    target_include_directories(weir_messages SYSTEM PRIVATE ${CMAKE_BINARY_DIR}/generated ${weir_includes})
    target_compile_options(weir_messages PRIVATE -w -g0)
    set(weir_message_objects $<TARGET_OBJECTS:weir_messages>)
endif()
