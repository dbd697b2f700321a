# beamdump_library(NAME FOLDERS folder... [LINK target...] [PRIVATE target...] [EXTRA source...]): a static library of
# all sources below these folders of the current one. Headers are included by their path from the root.
function(beamdump_library name)
  cmake_parse_arguments(arg "" "" "FOLDERS;LINK;PRIVATE;EXTRA" ${ARGN})
  set(patterns ${arg_FOLDERS})
  list(TRANSFORM patterns PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM patterns APPEND /*.cpp)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
  # Those below static replace functions of the C library, in static programs alone (beamdump_static()).
  list(FILTER sources EXCLUDE REGEX "/(main\\.cpp|static/[^/]*)$")
  # What differs between operating systems (libdump/base/system).
  if(BEAMDUMP_LINUX)
    list(FILTER sources EXCLUDE REGEX "/base/system/posix/")
  else()
    list(FILTER sources EXCLUDE REGEX "/base/system/linux/")
  endif()
  # What a program does on another architecture than it is built for (libvm/arch, libvm/target/machine).
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    list(FILTER sources EXCLUDE REGEX "/(arch/x86_64/host|target/machine/x86_64)/")
  else()
    list(FILTER sources EXCLUDE REGEX "/(arch/aarch64/host|target/machine/aarch64)/")
  endif()
  add_library(${name} STATIC ${sources} ${arg_EXTRA})
  beamdump_unity(${name})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE BEAMDUMP_VERSION="${PROJECT_VERSION}")
  # So that a statically linked program has only what it calls.
  target_compile_options(${name} PRIVATE -ffunction-sections)
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE ${arg_PRIVATE} beamdump_options)
  add_dependencies(${name} include_rules)
endfunction()

# beamdump_program(PROGRAM LIBRARY MAIN [LINK target...] [PRIVATE target...] [EXTRA source...]): the program of MAIN, and
# a library of the rest of src, so that tests link the same code as the program. Its own headers are included by
# their path below src.
function(beamdump_program program library main)
  beamdump_library(${library} FOLDERS src ${ARGN})
  target_include_directories(${library} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/src)
  add_executable(${program} ${main})
  target_link_libraries(${program} PRIVATE ${library} beamdump_options)
  install(TARGETS ${program} RUNTIME)
  beamdump_documents(${program})
endfunction()
