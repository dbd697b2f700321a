#pragma once

#include <cstdint>
#include <string>

namespace beamdump {

/// A local process's id as Erlang prints it: owner id serial << 32 | number as <0.number.serial>.
std::string pid_text(std::uint64_t owner_id);

}  // namespace beamdump
