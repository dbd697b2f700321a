#pragma once

#include <libvm/target/process/proc_directory.h>
#include <libvm/target/stop/settle.h>
#include <libvm/target/twin/twin_watcher.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace beamdump::target {

/// What a twin may cost, and whom it may borrow.
struct TwinLimits {
    /// Bytes of pages that may be copied because the node writes to them while the twin lives.
    /// Nothing: an eighth of the resident memory, at least 64 MiB, at most 1 GiB.
    std::optional<std::uint64_t> copied_bytes;
    /// What this process itself may still need, in bytes.
    std::uint64_t own_bytes = std::uint64_t{64} << 20U;
    /// The twin is abandoned when less than this is left, in bytes. Nothing: a quarter of
    /// copied_bytes.
    std::optional<std::uint64_t> floor_bytes;
    /// How long the node may be stopped; nothing: several times as long as its fork should take.
    std::optional<std::chrono::nanoseconds> longest_stop;
    /// What an error advises where the fork alone takes, or may have taken, longer than that.
    std::string_view advice = "use mode snapshot, or a longer --max-pause";
    /// Also where seccomp filters the node's system calls. What a filter does cannot be known from
    /// outside: one that kills for clone, wait4, exit or exit_group ends the node.
    bool filtered_too = false;
    /// Names of threads that may be borrowed, the best first. Empty: borrowable_threads().
    std::vector<std::string> threads;
    /// Notified of the node's stop. Non-owning; null: nobody.
    StopTracker* stops = nullptr;
};

/// What a twin of a process may cost.
struct TwinNeeds {
    std::uint64_t page_table_bytes = 0;
    std::uint64_t copied_bytes = 0;
    std::uint64_t promised_bytes = 0;  ///< counts where memory is never overcommitted
    /// What the kernel's fork, for which the node stands still, takes at least on most machines:
    /// 15 ms for each resident GiB.
    std::chrono::nanoseconds least_fork{};
    [[nodiscard]] std::uint64_t memory_bytes() const { return page_table_bytes + copied_bytes; }
};

/// A copy-on-write twin of a running process: all its private memory as it was in one short stop of
/// all its threads, while the process runs on. It is a process of its own that never runs: held at
/// its start, it ends when it is resumed, by whichever side lets it go. Memory that the process
/// shares (MAP_SHARED), the JIT's code among it, is not copied: the twin sees it change. What is
/// marked MADV_DONTFORK is not there.
///
/// make() and everything else on one thread, which must not end before the twin: it is its tracer.
/// If it dies, the twin ends and nothing stays behind. docs/snapshot.md says how.
class Twin {
  public:
    /// Whether one could be made, as far as can be known while the process runs, and what it
    /// might cost. Changes nothing. Errors as make().
    static Result<TwinNeeds> estimate_needs(pid_t node, const TwinLimits& limits = {});
    /// How long the node may be stopped for making one at most, before that is abandoned.
    static std::chrono::nanoseconds longest_stop(const TwinNeeds& needs, const TwinLimits& limits);

    /// Offers this process and the twin to the kernel for when memory runs out (oom_score_adj).
    /// kLimit: too little memory or too few processes left (the sentence says which limit, how much
    /// there is and how much is needed), or it was not there in time (limits.stops has the stop
    /// then). kUnsupported: it hangs in the kernel; see Injection, or the process is stopped.
    /// kExists: it has a twin already. kChanged: what stood was not worth it (Settling::worth).
    /// kPermission, kNotFound, kTargetDied as ThreadStop.
    /// `settling`: see settle(); its time is part of the stop. Restless threads have what the stop
    /// leaves beside a slow fork: `longest_restless` is set here.
    static Result<Twin> make(pid_t node, const TwinLimits& limits = {},
                             std::optional<Settling> settling = std::nullopt);
    Twin(Twin&& other) noexcept;
    Twin& operator=(Twin&&) = delete;
    Twin(const Twin&) = delete;
    Twin& operator=(const Twin&) = delete;
    ~Twin();

    /// To be read through /proc/PID/mem (memory::ReadWay::kProcMem): process_vm_readv would copy
    /// what it reads.
    [[nodiscard]] pid_t pid() const { return pid_; }
    /// The thread of the node that waits for the twin's end.
    [[nodiscard]] pid_t reaper() const { return reaper_.pid(); }
    /// The node's one stop.
    [[nodiscard]] const StopCost& stop_cost() const { return stop_cost_; }
    /// With `settling`: of the node's threads at work, as they stood when the twin was made.
    [[nodiscard]] const std::vector<ThreadRegisters>& registers() const { return registers_; }
    /// The part of the stop that was the kernel's own fork.
    [[nodiscard]] std::int64_t fork_ns() const { return fork_ns_; }

    /// To be called now and then while the twin is read. kTargetDied: node or twin has ended.
    /// kLimit: the memory left ran short, and the twin was ended (see TwinWatcher).
    Result<void> check();

    enum class Remains : std::uint8_t {
        kNone,
        /// Its reaper, a thread of the node, stands still as the node does (SIGSTOP, a debugger):
        /// it and the ended twin, which holds nothing more, go when the node goes on.
        kUntilNodeGoesOn,
    };
    /// Ends the twin and waits until it and its reaper are gone. Later calls do nothing. kLimit: it
    /// does not end.
    Result<Remains> remove();

  private:
    Twin() = default;

    pid_t pid_ = 0;
    ProcDirectory node_;
    ProcDirectory twin_;
    ProcDirectory reaper_;
    std::unique_ptr<TwinWatcher> watcher_;
    StopCost stop_cost_;
    std::vector<ThreadRegisters> registers_;
    std::int64_t fork_ns_ = 0;
    bool here_ = false;
};

}  // namespace beamdump::target
