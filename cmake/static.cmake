# Programs of one file that run on any Linux of this processor (docs/packages.md): the same object files, linked
# with static libraries. BEAMDUMP_STATIC_SOURCES is the folder that scripts/install-static-sources prints.
set(BEAMDUMP_STATIC_SOURCES "" CACHE PATH "Sources of libraries without a static form; empty: no static programs")

if(BEAMDUMP_STATIC_SOURCES AND NOT BEAMDUMP_SANITIZE)
  # Debian has these two as shared libraries only. No warnings: the files are not this project's.
  add_library(static_fmt STATIC EXCLUDE_FROM_ALL ${BEAMDUMP_STATIC_SOURCES}/fmtlib/src/format.cc)
  add_library(static_simdjson STATIC EXCLUDE_FROM_ALL
    ${BEAMDUMP_STATIC_SOURCES}/simdjson/singleheader/simdjson.cpp)
  # A section for each function, so that the linker leaves out what is not used.
  target_compile_options(static_fmt PRIVATE -w -ffunction-sections -fdata-sections)
  target_compile_options(static_simdjson PRIVATE -w -ffunction-sections -fdata-sections)
  # It chooses one of several parsers when it starts: without the one for AVX-512 the file is smaller.
  target_compile_definitions(static_simdjson PRIVATE SIMDJSON_IMPLEMENTATION_ICELAKE=0)
  # The rest, and what these need in turn, in any order: the linker takes what is used.
  set(BEAMDUMP_STATIC_LIBRARIES "")
  foreach(name boost_iostreams bsd bz2 crypto dw edit elf lzma md ncursesw protobuf-lite sodium sqlite3 tinfo xxhash z zstd)
    find_library(BEAMDUMP_STATIC_${name} lib${name}.a REQUIRED)
    mark_as_advanced(BEAMDUMP_STATIC_${name})
    list(APPEND BEAMDUMP_STATIC_LIBRARIES ${BEAMDUMP_STATIC_${name}})
  endforeach()
endif()

# The project's own libraries that a target is linked with.
function(beamdump_own_libraries target found)
  set(all ${${found}})
  get_target_property(linked ${target} LINK_LIBRARIES)
  if(NOT linked)
    get_target_property(linked ${target} INTERFACE_LINK_LIBRARIES)
  endif()
  foreach(library ${linked})
    if(NOT TARGET ${library} OR ${library} IN_LIST all)
      continue()
    endif()
    get_target_property(imported ${library} IMPORTED)
    get_target_property(kind ${library} TYPE)
    if(NOT imported)
      if(kind STREQUAL STATIC_LIBRARY)
        list(APPEND all ${library})
      endif()
      beamdump_own_libraries(${library} all)
    endif()
  endforeach()
  set(${found} ${all} PARENT_SCOPE)
endfunction()

# beamdump_static(PROGRAM): static/PROGRAM in the build folder, stripped. program/static replaces functions of the C
# library.
function(beamdump_static program)
  if(NOT TARGET static_fmt)
    return()
  endif()
  set(own "")
  beamdump_own_libraries(${program} own)
  list(TRANSFORM own PREPEND "$<TARGET_FILE:" OUTPUT_VARIABLE files)
  list(TRANSFORM files APPEND ">")
  add_executable(${program}-static $<TARGET_OBJECTS:${program}>
    ${CMAKE_SOURCE_DIR}/program/static/getpwuid_r.cpp ${CMAKE_SOURCE_DIR}/program/static/dlopen.cpp)
  set_target_properties(${program}-static PROPERTIES
    OUTPUT_NAME ${program} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/static LINKER_LANGUAGE CXX)
  # The map says which archives it is made of (scripts/write-sbom).
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/maps)
  target_link_options(${program}-static PRIVATE -static -s -Wl,--gc-sections,--wrap=dlopen
    -Wl,-Map=${CMAKE_BINARY_DIR}/maps/${program}.map)
  target_link_libraries(${program}-static PRIVATE -Wl,--start-group ${files}
    $<TARGET_FILE:static_fmt> $<TARGET_FILE:static_simdjson> ${BEAMDUMP_STATIC_LIBRARIES} -Wl,--end-group)
  add_dependencies(${program}-static ${own} static_fmt static_simdjson)
endfunction()
