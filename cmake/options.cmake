# Warnings and sanitizers, applied through one interface target.
add_library(beamdump_options INTERFACE)
target_compile_options(beamdump_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12 hides std::expected from clang unless it claims full concepts support.
  target_compile_options(beamdump_options INTERFACE -D__cpp_concepts=202002L
    -Wno-builtin-macro-redefined)
endif()
if(BEAMDUMP_SANITIZE)
  add_compile_options(-fsanitize=${BEAMDUMP_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${BEAMDUMP_SANITIZE})
endif()
if(BEAMDUMP_BUILD_FUZZERS)
  # Coverage of the libraries too, or the fuzzers would be blind.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
