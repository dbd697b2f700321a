# Unity builds: half of a build is parsing headers, so sources are compiled together, up to
# BEAMDUMP_UNITY_FILES at a time: those of one folder, and with BEAMDUMP_UNITY_ACROSS those of
# folders that follow one another in a library, as long as no two of them have a name in common: no
# script does that yet. 1 compiles each file alone (the preset "single"):
# clang-tidy wants that, and it finds a file that relies on another one's includes.
set(BEAMDUMP_UNITY_FILES 10 CACHE STRING "Source files compiled together (1: each alone)")
option(BEAMDUMP_UNITY_ACROSS "Compile small folders together" OFF)

# beamdump_unity(TARGET): groups the target's sources. Generated sources stay alone.
function(beamdump_unity target)
  if(BEAMDUMP_UNITY_FILES LESS 2)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "/generated/")
  foreach(source IN LISTS sources)
    get_filename_component(folder ${source} DIRECTORY)
    list(APPEND of_${folder} ${source})
  endforeach()
  set(last_folder "<none>")
  set(count 0)
  foreach(source IN LISTS sources)
    get_filename_component(folder ${source} DIRECTORY)
    if(NOT folder STREQUAL last_folder)
      list(LENGTH of_${folder} more)
      math(EXPR together "${count} + ${more}")
      if(last_folder STREQUAL "<none>" OR NOT BEAMDUMP_UNITY_ACROSS
         OR together GREATER BEAMDUMP_UNITY_FILES)
        string(REPLACE "${PROJECT_SOURCE_DIR}/" "" name "${folder}")
        string(MAKE_C_IDENTIFIER "${name}" name)
        set(count 0)
      endif()
      set(last_folder "${folder}")
    endif()
    math(EXPR batch "${count} / ${BEAMDUMP_UNITY_FILES}")
    math(EXPR count "${count} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${name}_${batch}")
  endforeach()
endfunction()
