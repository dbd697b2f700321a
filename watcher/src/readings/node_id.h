#pragma once

#include <string>
#include <sys/types.h>

namespace beamdump::watch {

/// Which node it is.
struct NodeId {
    std::string name;  ///< "rabbit@host"
    pid_t pid = 0;     ///< as this program sees it
    /// The cgroup of a node that runs in another PID namespace than this program: "/docker/1f".
    std::string container{};

    /// "rabbit@host", or "rabbit@host in container /docker/1f".
    [[nodiscard]] std::string text() const;
    /// What the names of its dumps begin with and its limits go by: the same name in two containers
    /// is two nodes.
    [[nodiscard]] std::string key() const;
};

/// NodeId::container of a process; empty: it runs in none, or that cannot be read.
std::string container_of(pid_t pid);

}  // namespace beamdump::watch
