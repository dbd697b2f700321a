# Writes OUT: a C++ source with the text of FILE.
file(READ "${FILE}" json)
set(pieces "")
string(LENGTH "${json}" length)
set(at 0)
while(at LESS length)
  string(SUBSTRING "${json}" ${at} 8000 piece)
  string(APPEND pieces "R\"NAMES(${piece})NAMES\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE "${OUT}" "// Generated from layout/names.json.\n#include <builtin_names.h>\n"
  "namespace beamdump::layout {\n"
  "std::string_view builtin_names_json() {\n    return ${pieces};\n}\n"
  "}  // namespace beamdump::layout\n")
