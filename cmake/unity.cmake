# Unity builds: half of a build is parsing headers, so sources of one folder are compiled together,
# BEAMDUMP_UNITY_FILES at a time. 1 compiles each file alone (the preset "single"): clang-tidy wants
# that, and it finds a file that relies on another one's includes.
set(BEAMDUMP_UNITY_FILES 10 CACHE STRING "Source files compiled together (1: each alone)")

# beamdump_unity(TARGET): groups the target's sources. Generated sources stay alone.
function(beamdump_unity target)
  if(BEAMDUMP_UNITY_FILES LESS 2)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  set(last_folder "<none>")
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "\\.cpp$" OR source MATCHES "/generated/")
      continue()
    endif()
    get_filename_component(folder ${source} DIRECTORY)
    if(NOT folder STREQUAL last_folder)
      set(last_folder ${folder})
      set(count 0)
    endif()
    math(EXPR batch "${count} / ${BEAMDUMP_UNITY_FILES}")
    math(EXPR count "${count} + 1")
    get_filename_component(name "${folder}" NAME)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${name}_${batch}")
  endforeach()
endfunction()
