#pragma once

#include <libsample/node/observed_node.h>
#include <libsample/profile/node_events.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace beamdump::sampler {

/// Addresses of shared code at which a process is about to collect its heap, with the tops
/// of its heap and stack and its structure in registers, the heap's top after a BIF.
struct CollectionPlaces {
    std::vector<Address> addresses{};
    bool complete = false;  ///< both were found: where code finds no room, and after a BIF
};

CollectionPlaces collection_places(ObservedNode& node);

/// Breakpoints of the processor where a process begins to collect its heap. Of schedulers' threads.
class CollectionEvents {
  public:
    /// Switched off. Fewer than there are places if other breakpoints are set: `remarks` get a
    /// sentence about what is not seen. `stack_bytes`: as EventTerms'.
    static CollectionEvents open(ObservedNode& node, std::uint32_t stack_bytes,
                                 std::vector<std::string>& remarks);

    [[nodiscard]] bool any() const { return !events_.empty(); }
    /// Whether each collection that begins in Erlang code is seen, or after a BIF.
    [[nodiscard]] bool all() const { return all_; }
    /// As NodeEvents', of all places.
    Result<void> refresh();
    Result<void> switch_on();
    Result<void> switch_off();
    Result<void> read(const std::function<void(const Sample&, const std::string&)>& visit);
    [[nodiscard]] std::uint64_t lost() const;

    /// Whether a sample of processor time is of a thread that is held up by one of the breakpoints:
    /// each takes some microseconds, which are not the function's own time.
    [[nodiscard]] bool holds_up(const Sample& sample) const;

  private:
    std::vector<Address> places_;
    std::vector<NodeEvents> events_;  // of each place
    bool all_ = false;
};

}  // namespace beamdump::sampler
