# Writes OUT: a C++ source with the section "For the model" of DOCUMENT, without its title.
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/raw_string.cmake)

file(READ "${DOCUMENT}" text)
set(title "## For the model\n")
string(FIND "${text}" "${title}" begin)
if(begin EQUAL -1)
  message(FATAL_ERROR "${DOCUMENT} has no section \"For the model\"")
endif()
string(LENGTH "${title}" length)
math(EXPR begin "${begin} + ${length}")
string(SUBSTRING "${text}" ${begin} -1 text)
string(FIND "${text}" "\n## " end)
string(SUBSTRING "${text}" 0 ${end} text)
string(STRIP "${text}" text)
file(WRITE "${OUT}.md" "${text}\n")
raw_string("${OUT}.md" pieces)
file(WRITE "${OUT}" "// Generated from docs/mcp.md.
#include <cli/mcp/dump_answers.h>
namespace beamdump::cli {
std::string_view guide() {
    return ${pieces};
}
}  // namespace beamdump::cli
")
