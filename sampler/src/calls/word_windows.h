#pragma once

#include "calls/measured_calls.h"
#include "calls/named_function.h"

#include <libsample/profile/node_events.h>
#include <libsample/profile/node_threads.h>

#include <chrono>
#include <map>
#include <optional>
#include <random>

namespace beamdump::sampler {

/// Measures the words of calls in short windows, by four breakpoints of the processor: at a
/// function's entry, where its calls return to, where Erlang code begins collections, and at the
/// count of collections of each scheduler, which native code adds to too. Nothing of the node is
/// stopped or changed.
class WordWindows {
  public:
    /// Nothing: the layout has no counts of collections, or the JIT no fragment that begins them.
    static std::optional<WordWindows> open(ObservedNode& node, const NodeThreads& threads);

    /// One window of a function within the next tenth of a second, at most until `end`. The
    /// processor must have four breakpoints left. Errors as NodeEvents::open().
    Result<void> next(const LoadedFunction& function, std::uint64_t returns_to, CallWords& into,
                      std::chrono::steady_clock::time_point end);

  private:
    struct Seen;
    WordWindows(ObservedNode& node, const NodeThreads& threads, std::uint64_t counter,
                Address collection)
        : node_(&node), threads_(&threads), counter_(counter), collection_(collection) {}
    Result<NodeEvents> events_at(Address place) const;
    Result<NodeEvents> events_at_counters() const;
    Result<void> take(NodeEvents& events, CallPoint::Kind kind, bool process_known, Seen& into);

    ObservedNode* node_;
    const NodeThreads* threads_;
    std::uint64_t counter_;  // in a scheduler's structure
    Address collection_;
    std::map<Address, std::chrono::nanoseconds> windows_;  // by the function's entry
    std::minstd_rand random_{std::random_device{}()};
};

}  // namespace beamdump::sampler
