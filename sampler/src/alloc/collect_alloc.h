#pragma once

#include "alloc/heap_tops.h"

#include <libsample/node/observed_node.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::sampler {

struct AllocOptions {
    std::chrono::milliseconds duration{10'000};
    std::uint32_t rate = 30'000;          ///< samples for each second of processor time, in a burst
    std::optional<std::size_t> frames{};  ///< words by stack too: of a stack, at most so many
};

/// Which functions allocate, and how that was found.
struct AllocReport {
    std::string node;
    std::string otp_release;
    pid_t pid = 0;
    std::int64_t began_us = 0;  ///< since the epoch
    std::int64_t took_ns = 0;
    std::uint64_t rate = 0;
    std::uint64_t bursts = 0;
    std::int64_t sampled_ns = 0;  ///< the bursts' length in all
    Allocation allocation{};
    bool by_stack = false;          ///< callers were looked at
    bool collections_seen = false;  ///< there were breakpoints where collections begin
    std::uint64_t samples = 0;
    std::uint64_t held_up = 0;  ///< of these: while a breakpoint of a collection held the thread up
    std::uint64_t lost = 0;     ///< samples that the kernel dropped
    std::map<std::string, std::uint64_t> not_sampled{};  ///< threads, by reason
    std::vector<std::string> remarks{};
    bool cut_short = false;

    [[nodiscard]] bool complete() const { return !cut_short && not_sampled.empty(); }
};

/// Samples the processor time of a node's normal schedulers in short bursts at random moments, and
/// by breakpoints where collections begin. Nothing of the node is stopped or changed. Memory:
/// bounded. kUnsupported: the interpreter. kPermission: perf events are forbidden.
Result<AllocReport> collect_alloc(ObservedNode& node, const AllocOptions& options,
                                  const std::atomic<bool>& cancelled);

}  // namespace beamdump::sampler
