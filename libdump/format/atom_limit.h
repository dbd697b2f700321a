#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace beamdump {

/// erlang:system_info(atom_limit).
struct AtomLimit {
    std::optional<std::uint64_t> limit;  ///< nothing: not known
    bool is_default = false;
};

/// By the arguments of a VM's process: erlexec passes the emulator's flags as -t, before `--`
/// (erl_init.c, OTP 25.2.3). Not known where the command line is not known whole.
AtomLimit atom_limit_of(const std::vector<std::string>& arguments);

}  // namespace beamdump
