#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace beamdump::nodes {

/// Notices Erlang VMs that start, also in other PID namespaces as far as /proc shows them. The
/// processes are not all looked at each time: those that are new are, a few times, since a process
/// becomes a VM by executing it; of the others some, in turn.
class VmFinder {
  public:
    /// What is asked of the machine, or of a test.
    struct Machine {
        std::function<std::vector<pid_t>()> processes;
        /// The parent of a process that runs a VM; nothing: it runs another program.
        std::function<std::optional<pid_t>(pid_t)> parent_of_vm;
    };
    /// How often a new process is looked at, and how many others each time.
    static constexpr int kNewLooks = 10;
    static constexpr std::size_t kOldLooks = 32;

    VmFinder();
    explicit VmFinder(Machine machine) : machine_(std::move(machine)) {}

    /// Looks once; the VMs that run and are known so far, by pid. Forks of a node, such as a
    /// snapshot, are left out.
    std::vector<pid_t> look();

  private:
    void examine(pid_t pid);

    Machine machine_;
    std::map<pid_t, int> looks_;  // at each process that runs
    std::map<pid_t, pid_t> vms_;  // and their parents
    pid_t last_ = 0;              // of the old ones, that was looked at
    bool begun_ = false;
};

}  // namespace beamdump::nodes
