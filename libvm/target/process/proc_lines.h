#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace beamdump::target {

/// The rest of the line of `name`, without blanks before it, in a file of /proc or of a cgroup
/// whose lines are "Name:\trest" or "name rest" (proc(5): status, meminfo, smaps_rollup; Linux'
/// cgroup-v2.rst: memory.stat, memory.events). Nothing: no line has that name.
std::optional<std::string_view> listed_text(std::string_view text, std::string_view name);

/// The number that this line begins with. Nothing: no line has that name, or no number is in it.
std::optional<std::uint64_t> listed_number(std::string_view text, std::string_view name);

/// The bytes of a line such as "VmRSS:\t    1024 kB" of status, meminfo or smaps_rollup.
std::optional<std::uint64_t> listed_bytes(std::string_view text, std::string_view name);

}  // namespace beamdump::target
