# The build fails when a source file includes what its folder may not see.
# The table itself is in check_includes.cmake.
add_custom_target(include_rules ALL
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR}
          -P ${CMAKE_SOURCE_DIR}/cmake/check_includes.cmake
  COMMENT "Checking include rules"
  VERBATIM)
