# Writes OUT: a C++ source with the members of each command's JSON answer and their types, of the schemas in FOLDER.
file(GLOB_RECURSE schemas "${FOLDER}/*.schema.json")
list(SORT schemas)
set(table "")
foreach(schema IN LISTS schemas)
  get_filename_component(name "${schema}" NAME)
  string(REGEX REPLACE "\\.schema\\.json$" "" name "${name}")
  file(READ "${schema}" text)
  string(JSON count ERROR_VARIABLE none LENGTH "${text}" properties)
  if(NOT count MATCHES "^[0-9]+$" OR count EQUAL 0)
    continue()
  endif()
  set(members "")
  math(EXPR last "${count} - 1")
  foreach(at RANGE ${last})
    string(JSON member MEMBER "${text}" properties ${at})
    set(type "")
    string(JSON kind ERROR_VARIABLE none TYPE "${text}" properties "${member}" type)
    if(kind STREQUAL "STRING")
      string(JSON type GET "${text}" properties "${member}" type)
      set(type "\"type\":\"${type}\"")
    endif()
    string(APPEND members ",\"${member}\":{${type}}")
  endforeach()
  string(SUBSTRING "${members}" 1 -1 members)
  string(APPEND table "    {\"${name}\", R\"JSON({${members}})JSON\"},\n")
endforeach()
file(WRITE "${OUT}" "// Generated from schemas/json.
#include <cli/mcp/tools.h>

#include <algorithm>
#include <array>
#include <utility>

namespace beamdump::cli {

std::string_view answer_members(std::string_view command) {
    static constexpr auto kMembers = std::to_array<std::pair<std::string_view, std::string_view>>({
${table}    });
    const auto* const found = std::ranges::find(
        kMembers, command, &std::pair<std::string_view, std::string_view>::first);
    return found == kMembers.end() ? std::string_view() : found->second;
}

}  // namespace beamdump::cli
")
