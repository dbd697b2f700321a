#pragma once

#include <libdump/base/error.h>

#include <records.pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace beamdump::sampler {

/// A thread of the node.
struct NodeThread {
    pid_t id = 0;
    std::string name;  ///< as the VM named it, at most 15 characters
};

/// The threads that the node has now. Errors as target::threads_of().
Result<std::vector<NodeThread>> threads_of_node(pid_t pid);

/// How many threads the node has now. kTargetDied: the process has ended.
Result<std::uint64_t> thread_count(pid_t pid);

/// The number of the scheduler that a thread is, by its name: "1_scheduler" (OTP 25),
/// "erts_sched_1" (from 26 on; erl_process.c). Nothing for all other threads, dirty schedulers too.
std::optional<std::uint32_t> scheduler_number(std::string_view name);

/// The scheduler that a thread is, normal or dirty, by its name: "1_dirty_cpu_sch" and
/// "1_dirty_io_sche" (OTP 25), "erts_dcpus_1" and "erts_dios_1" (from 26 on; erl_process.c).
/// Number 0: all other threads.
std::pair<records::SchedulerKind, std::uint32_t> scheduler_of_thread(std::string_view name);

/// The thread of each scheduler, by kind and number. A VM makes all of them at its start: of
/// threads of one name the first one is it, since a thread that a scheduler makes for a NIF begins
/// with the scheduler's name. Errors as target::threads_of().
Result<std::map<std::pair<records::SchedulerKind, std::uint32_t>, pid_t>> threads_of_schedulers(
    pid_t pid);

/// Whether and how often a thread ran.
struct ThreadRest {
    bool sleeps = false;         ///< waits in a system call
    std::uint64_t switches = 0;  ///< how often it left a processor
    char state = '?';            ///< as /proc names it: R, S, D, T, t, Z, X

    /// It did not run between two looks at it, the first of which saw it asleep.
    [[nodiscard]] bool rested_until(const ThreadRest& later) const {
        return sleeps && later.sleeps && switches == later.switches;
    }
};

/// From /proc/PID/task/ID/status. kTargetDied: it has ended. kImplausible: the file has another
/// form.
Result<ThreadRest> thread_rest(pid_t pid, pid_t thread);

/// Parses that file's text.
Result<ThreadRest> parse_thread_rest(std::string_view status);

}  // namespace beamdump::sampler
