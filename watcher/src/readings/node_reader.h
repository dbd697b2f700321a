#pragma once

#include "readings/node_id.h"
#include "rules/quantity.h"

#include <libsample/counts/process_counts.h>
#include <libvm/beam/locate/locate.h>
#include <libvm/target/process/head_room.h>

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace beamdump::watch {

/// A running node that is read again and again. It is never stopped, and nothing in it changes.
class NodeReader {
  public:
    /// Locates the VM and checks its layout. Errors as fit::locate_checked().
    static Result<NodeReader> open(pid_t pid, const beam::LocateOptions& how,
                                   const std::atomic<bool>& cancelled);

    [[nodiscard]] const NodeId& id() const { return id_; }
    /// The variables that the node was started with, NAME=VALUE.
    [[nodiscard]] Result<std::vector<std::string>> environment() const {
        return vm_->target().environment();
    }

    /// Those of the quantities that need no look at each process: allocators' counters, tables'
    /// counts, run queues, files of /proc and the cgroup. The time does not grow with the number of
    /// processes. What cannot be read is absent. From the second time on few files are opened, and
    /// the node's memory is read with few calls. kTargetDied.
    Result<Measurements> read(const std::set<Quantity>& wanted);
    /// Those that do: the longest mailbox and all mailboxes. kTargetDied; kIo: cancelled.
    Result<Measurements> scan(const std::atomic<bool>& cancelled);

  private:
    NodeReader(pid_t pid, std::unique_ptr<beam::Vm> vm, sampler::CountsReader counts);
    [[nodiscard]] std::unexpected<Error> has_ended() const;
    void read_limits(const std::set<Quantity>& wanted, Measurements& into);
    void read_memory(Measurements& into);
    void read_counts(const std::set<Quantity>& wanted, Measurements& into);

    NodeId id_;
    std::shared_ptr<target::KeptFiles> files_;
    std::string resident_file_;
    std::optional<target::HeadRoom> room_;
    std::unique_ptr<beam::Vm> vm_;
    sampler::CountsReader counts_;
    double machine_bytes_ = 0;
    std::optional<std::uint64_t> atom_limit_;
};

}  // namespace beamdump::watch
