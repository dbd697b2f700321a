# Run by CPack on the files of the package. Man pages are compressed, as Debian's policy has it; folders are for
# everyone to read, whatever the umask was.
set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
file(GLOB_RECURSE pages ${usr}/share/man/*.1)
if(pages)
  execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
file(CHMOD_RECURSE ${usr} DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
