#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump {

/// A local process's id as Erlang prints it: owner id serial << 32 | number as <0.number.serial>.
std::string pid_text(std::uint64_t owner_id);

/// The owner id that `<0.123.0>` or `0.123.0` names; nothing if `text` is not of that form.
std::optional<std::uint64_t> parse_pid(std::string_view text);

}  // namespace beamdump
