# Toolchain of the preset aarch64: programs for aarch64, built on a Debian 12 of another architecture by its compiler for
# aarch64 (scripts/install-dependencies aarch64). The libraries are in the folder that scripts/install-aarch64-root
# prints; none of them is installed on this machine.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${CMAKE_LIBRARY_ARCHITECTURE}-gcc)
set(CMAKE_CXX_COMPILER ${CMAKE_LIBRARY_ARCHITECTURE}-g++)

if(NOT BEAMDUMP_AARCH64_ROOT)
  execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../scripts/install-aarch64-root libraries
    OUTPUT_VARIABLE root OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(BEAMDUMP_AARCH64_ROOT ${root} CACHE PATH "Libraries for aarch64 (scripts/install-aarch64-root)")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BEAMDUMP_AARCH64_ROOT)
set(CMAKE_SYSROOT ${BEAMDUMP_AARCH64_ROOT})

# protoc and other tools are this machine's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_PATH} "")
set(ENV{PKG_CONFIG_LIBDIR}
  ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})

# The build runs the programs, which make their man pages and completions.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_SYSROOT})
