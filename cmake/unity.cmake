# Unity builds: half of a build is parsing headers, so sources of one target are compiled together,
# BEAMDUMP_UNITY_FILES at a time, in the order of their paths. 1 compiles each file alone (the preset "single"):
# clang-tidy wants that, and it finds a file that relies on another one's includes. So names in anonymous namespaces
# have to differ within a target.
set(BEAMDUMP_UNITY_FILES 30 CACHE STRING "Source files compiled together (1: each alone)")

# beamdump_unity(TARGET [BY_FOLDER]): groups the target's sources, with BY_FOLDER each folder's apart. Generated
# sources stay alone.
function(beamdump_unity target)
  cmake_parse_arguments(arg "BY_FOLDER" "" "" ${ARGN})
  if(BEAMDUMP_UNITY_FILES LESS 2)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  set(last_group "<none>")
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "\\.cpp$" OR source MATCHES "/generated/")
      continue()
    endif()
    set(group ${target})
    if(arg_BY_FOLDER)
      get_filename_component(group ${source} DIRECTORY)
      string(REPLACE "${PROJECT_SOURCE_DIR}/" "" group "${group}")
      string(MAKE_C_IDENTIFIER "${group}" group)
    endif()
    if(NOT group STREQUAL last_group)
      set(last_group ${group})
      set(count 0)
    endif()
    math(EXPR batch "${count} / ${BEAMDUMP_UNITY_FILES}")
    math(EXPR count "${count} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${group}_${batch}")
  endforeach()
endfunction()
