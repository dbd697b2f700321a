# Writes OUT: a C++ source with the text of FILE.
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/raw_string.cmake)
raw_string("${FILE}" pieces)
file(WRITE "${OUT}" "// Generated from layout/names.json.\n#include <builtin_names.h>\n"
  "namespace beamdump::layout {\n"
  "std::string_view builtin_names_json() {\n    return ${pieces};\n}\n"
  "}  // namespace beamdump::layout\n")
