#pragma once

#include "threads/thread_kind.h"
#include "threads/thread_wait.h"

#include <libdump/profile/samples.h>
#include <libsample/node/observed_node.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::sampler {

struct ThreadsOptions {
    std::chrono::milliseconds duration{1000};
    std::size_t frames = 100;  ///< of an Erlang stack
};

/// A thread of the node, as it was seen.
struct ThreadFacts {
    pid_t id = 0;
    std::string name{};  ///< as the kernel has it
    ThreadRole role{};
    char state = '?';                             ///< when it was last seen, as /proc names it
    std::optional<std::uint64_t> processor_ns{};  ///< since its begin
    std::optional<std::uint64_t> ran_ns{};        ///< of the time that it was looked at
    std::optional<std::uint64_t>
        delayed_ns{};  ///< that it could have run, and waited for a processor
    std::optional<std::uint64_t> switches{};     ///< how often it left a processor meanwhile
    std::uint64_t looks = 0;                     ///< how often its state was read
    std::uint64_t waits = 0;                     ///< looks that saw what it waits for
    std::uint64_t samples = 0;                   ///< on a processor
    std::uint64_t without_work = 0;              ///< of a scheduler: without a process and a port
    std::optional<ProcessIdentity> process{};    ///< what it ran when it was last seen
    std::optional<std::uint64_t> port_number{};  ///< of the port that it ran then
    /// Of a scheduler at the end: a process that has ended, and whose memory it frees.
    std::optional<std::uint64_t> freed_owner_id{};
    /// The list of off-heap objects of that one, or of `process`, leads back into itself, over so
    /// many members: the scheduler walks it for ever.
    std::optional<std::uint64_t> off_heap_circle{};
    std::optional<ThreadWait> wait{};  ///< if it waited when it was last seen
    bool idle = false;                 ///< a scheduler that slept then, without work

    /// A scheduler that uses, or waits for, a processor for a quarter of the time at least, without
    /// a process or port: it looks for work, or waits for a lock without sleeping.
    [[nodiscard]] bool spins(std::int64_t took_ns) const;
};

/// A place where threads were seen.
struct ThreadPlace {
    bool on_processor = false;
    bool idle = false;                  ///< schedulers that sleep without work
    std::optional<ThreadWait> wait{};   ///< without a mutex's owner
    std::vector<std::string> native{};  ///< functions, the innermost first
    std::vector<std::string> frames{};  ///< Erlang functions above them, the innermost first
    bool more = false;                  ///< further callers are left out
    auto operator<=>(const ThreadPlace&) const = default;
};

/// How often each thread was seen at a place: samples on a processor, looks otherwise.
struct PlaceCount {
    std::uint64_t seen = 0;
    std::map<pid_t, std::uint64_t> by_thread{};
};

struct ThreadsReport {
    std::string node;
    std::string otp_release;
    pid_t pid = 0;
    std::int64_t began_us = 0;  ///< since the epoch
    std::int64_t took_ns = 0;
    std::uint64_t looks = 0;  ///< at all threads
    /// Of a thread's processor time; nothing: what threads run was not sampled.
    std::optional<std::uint64_t> sample_period_ns{};
    std::vector<ThreadFacts> threads{};  ///< by id; those that have ended are left out
    std::map<ThreadPlace, PlaceCount> places{};
    std::uint64_t lost = 0;                              ///< samples that were not read soon enough
    std::uint64_t left_out = 0;                          ///< places that were too many
    std::map<std::string, std::uint64_t> not_sampled{};  ///< threads, by the reason
    std::vector<std::string> remarks{};

    [[nodiscard]] bool complete() const {
        return lost == 0 && left_out == 0 && not_sampled.empty();
    }
};

/// Looks at all threads of a node again and again for a time, or until `cancelled`: where those
/// that wait do, each proven not to have run while it was read, and by samples what the others run.
/// Nothing of the node is stopped or changed. Memory: bounded. kTargetDied: the node has ended.
Result<ThreadsReport> collect_threads(ObservedNode& node, const ThreadsOptions& options,
                                      const std::atomic<bool>& cancelled);

}  // namespace beamdump::sampler
