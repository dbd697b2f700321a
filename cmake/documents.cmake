# beamdump_documents(PROGRAM): makes the program's man page and its completions with the program itself, and
# installs them where man, bash, zsh and fish look.
function(beamdump_documents program)
  set(folder ${CMAKE_BINARY_DIR}/documents)
  foreach(document
      "man ${program}.1 ${CMAKE_INSTALL_MANDIR}/man1"
      "bash ${program}.bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
      "zsh _${program} ${CMAKE_INSTALL_DATADIR}/zsh/site-functions"
      "fish ${program}.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
    separate_arguments(document)
    list(GET document 0 kind)
    list(GET document 1 name)
    list(GET document 2 place)
    set(rename)
    if(kind STREQUAL bash)
      set(rename RENAME ${program})
    endif()
    add_custom_command(
      OUTPUT ${folder}/${name}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND ${program} --generate=${kind} > ${folder}/${name}
      DEPENDS ${program}
      VERBATIM)
    list(APPEND files ${folder}/${name})
    install(FILES ${folder}/${name} DESTINATION ${place} ${rename})
  endforeach()
  add_custom_target(${program}_documents ALL DEPENDS ${files})
endfunction()
