#pragma once

#include "readings/node_id.h"
#include "readings/process_scan.h"
#include "readings/scheduler_follower.h"
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
    /// The layout that was inferred on it, or on another node of its release before; nothing: its
    /// release has one.
    [[nodiscard]] const std::optional<beam::InferredLayout>& inferred() const { return inferred_; }
    /// When its process started, in ticks since the machine's boot.
    [[nodiscard]] std::uint64_t start_ticks() const { return start_ticks_; }
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

    /// What a recording says of the node at its head.
    Result<void> describe(records::Capture& capture, records::Node& node);
    /// The text of an atom; nothing if it cannot be read.
    [[nodiscard]] std::optional<std::string> atom(std::uint32_t index);
    /// ProcessScan::go_on() with such a part of the process table. Only kTargetDied is an error.
    Result<std::optional<records::HistoryScan>> scan_on(double part,
                                                        const std::atomic<bool>& cancelled);
    /// Processor time of all its threads so far.
    [[nodiscard]] std::optional<std::uint64_t> processor_ms();
    /// CgroupMemory::oom_kills, also when the node has ended. Known once read() was asked for a
    /// quantity of the cgroup.
    [[nodiscard]] std::optional<std::uint64_t> oom_kills() const;

  private:
    NodeReader(pid_t pid, std::unique_ptr<beam::Vm> vm, sampler::CountsReader counts,
               ProcessScan scan);
    [[nodiscard]] std::unexpected<Error> has_ended() const;
    void read_limits(const std::set<Quantity>& wanted, Measurements& into);
    void read_memory(Measurements& into);
    void read_counts(const std::set<Quantity>& wanted, Measurements& into);
    Result<void> read_schedulers(const std::set<Quantity>& wanted, Measurements& into);

    NodeId id_;
    std::optional<beam::InferredLayout> inferred_;
    std::shared_ptr<target::KeptFiles> files_;
    std::string resident_file_;
    std::string processor_file_;
    std::optional<target::HeadRoom> room_;
    std::unique_ptr<beam::Vm> vm_;
    sampler::CountsReader counts_;
    ProcessScan scan_;
    SchedulerFollower schedulers_;
    std::uint64_t start_ticks_ = 0;
    double machine_bytes_ = 0;
    std::optional<std::uint64_t> atom_limit_;
};

}  // namespace beamdump::watch
