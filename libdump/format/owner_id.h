#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace beamdump {

/// A local process's id as Erlang prints it: owner id serial << 32 | number as <0.number.serial>.
std::string pid_text(std::uint64_t owner_id);
/// The id of a process of another node, whose channel (its name's atom) is the first part.
std::string pid_text(std::string_view channel, std::uint64_t owner_id);
/// Several pids, separated by spaces.
std::string pids_text(std::span<const std::uint64_t> owner_ids);
/// A port of this node as Erlang prints it: "#Port<0.5>".
std::string port_text(std::uint64_t number);

}  // namespace beamdump
