#pragma once

#include <libsample/node/observed_node.h>
#include <libsample/profile/node_events.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace beamdump::sampler {

/// Breakpoints of the processor where a process begins to collect its heap. Of schedulers' threads.
class CollectionEvents {
  public:
    /// Switched off. Fewer than there are places if other breakpoints are set: `remarks` get a
    /// sentence about what is not seen. `stack_bytes`: as EventTerms'.
    static CollectionEvents open(ObservedNode& node, std::uint32_t stack_bytes,
                                 std::vector<std::string>& remarks);

    [[nodiscard]] bool any() const { return !events_.empty(); }
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
};

}  // namespace beamdump::sampler
