#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace beamdump {

/// A local process's id as Erlang prints it: owner id serial << 32 | number as <0.number.serial>.
std::string pid_text(std::uint64_t owner_id);
/// The id of a process of another node, whose channel (its name's atom) is the first part.
std::string pid_text(std::string_view channel, std::uint64_t owner_id);

}  // namespace beamdump
