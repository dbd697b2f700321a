# What is installed besides the programs, and the Debian package: `ninja -C build package` (docs/packages.md).
install(DIRECTORY schemas/json schemas/layouts DESTINATION ${CMAKE_INSTALL_DATADIR}/beamdump/schemas
  FILES_MATCHING PATTERN "*.json" PATTERN "*.md")
file(GLOB formats ${CMAKE_SOURCE_DIR}/schemas/*.proto)
install(FILES ${formats} schemas/dump-format.md DESTINATION ${CMAKE_INSTALL_DATADIR}/beamdump/schemas)
file(GLOB pages ${CMAKE_SOURCE_DIR}/docs/*.md)
if(BEAMDUMP_LINUX)
  install(FILES watcher/service/beamdump-watch.service DESTINATION lib/systemd/system)
  install(FILES watcher/service/watch.toml writer/service/beamdump-crash.conf DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)

# dpkg-shlibdeps knows the libraries that are installed on this machine, which are of another architecture. The
# package has all programs.
if(CMAKE_CROSSCOMPILING OR NOT BEAMDUMP_LINUX)
  return()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "beamdump maintainers <maintainers@beamdump.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/package)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/prepare_package.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # dependencies by the libraries that the programs are linked with
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS less)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "beamdump-capture copies the processes' heaps, stacks, messages and tables of a
 running node into one compressed file, from outside and without stopping it
 for long. beamdump-analyze answers questions about that file, or about an
 erl_crash.dump, on any machine. beamdump-watch takes the dump when a rule says
 so. beamdump-layout makes and checks layouts of
 the runtime's structures.")
include(CPack)
