#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace beamdump::target {

/// A relative of a process and what it is to it: "parent", "child", "ancestor", "descendant".
struct Relative {
    pid_t pid = 0;
    std::string relation;
};

/// Every process's parent.
using Parents = std::map<pid_t, pid_t>;

/// The numbers of all processes that /proc shows.
std::vector<pid_t> process_ids();

/// From /proc; processes that end meanwhile are left out.
Parents running_processes();

/// The nearest relative of `pid` for which `wanted` holds: descendants first (a shell that started
/// a node), then ancestors (a node's port program), neither beyond four generations.
std::optional<Relative> find_relative(pid_t pid, const Parents& parents,
                                      const std::function<bool(pid_t)>& wanted);

}  // namespace beamdump::target
