#pragma once

#include <libvm/nodes/running_nodes.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::nodes {

/// Reads a node's name: node_name(), or a substitute in a test.
using NameOf = std::function<Result<std::string>(pid_t)>;

/// Chooses the node that a command line means: `wanted` is "name@host", or a name whose host does
/// not matter; empty: the only node there is. `vms`: the processes to choose from. Names are read
/// only where they are needed. kUsage: none or several fit; the sentence lists the nodes.
/// kNotABeam: nothing runs an Erlang VM.
Result<pid_t> choose_node(std::string_view wanted, const std::vector<pid_t>& vms,
                          const NameOf& name_of);

/// Chooses the node among the processes that run here (running_vms()). Stops nothing.
Result<pid_t> find_node(std::string_view wanted, const beam::LocateOptions& how);

/// Whether NODE of a command line can mean several nodes: a pattern with `*` or `?`.
bool is_pattern(std::string_view text);
/// Whether a name, a pattern or the pid of a command line means this node. A name or pattern
/// without a host is compared with what is before the host, but does not mean a node without a
/// name.
bool means_node(const std::string& wanted, const std::string& name, pid_t pid);

/// The pid that NODE of a command line is; nothing: it is a name.
std::optional<pid_t> pid_of(std::string_view text);

/// Why NODE of a command line is neither a pid nor a name; empty if it is.
std::string node_text_error(const std::string& text);

}  // namespace beamdump::nodes
