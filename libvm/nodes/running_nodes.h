#pragma once

#include <libdump/base/error.h>
#include <libvm/beam/locate/locate.h>

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace beamdump::nodes {

/// The name of a node without distribution (erts_this_node, erl_node_tables.c, OTP 25 to 29).
inline constexpr std::string_view kNoName = "nonode@nohost";

/// A process of this machine that runs an Erlang VM.
struct RunningNode {
    pid_t pid = 0;
    /// "rabbit@host", "nonode@nohost"; the error says why it cannot be read.
    Result<std::string> name;
};

/// The processes whose program is an Erlang VM, or where that cannot be seen (other users'), whose
/// name begins with "beam.", by pid. Forks of a node, such as a snapshot, are left out. Does not
/// look into their memory. kIo: /proc cannot be listed.
Result<std::vector<pid_t>> running_vms();

/// The parent of a process whose program is an Erlang VM, as running_vms() tells it; nothing: it is
/// another program, or has ended.
std::optional<pid_t> parent_of_vm(pid_t pid);

/// The name of a node, from its VM's memory (erts_this_node, erl_node_tables.c). Stops nothing.
Result<std::string> node_name(pid_t pid, const beam::LocateOptions& how);

/// The name of the node of a VM that is located.
Result<std::string> node_name(beam::Vm& vm);

}  // namespace beamdump::nodes
