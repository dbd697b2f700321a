#pragma once

#include "calls/call_words.h"

#include <libsample/profile/call_rate.h>

#include <cstdint>
#include <map>
#include <vector>

namespace beamdump::sampler {

/// The calls of one function, from windows in which all were counted and some sampled.
class CallCounts {
  public:
    /// A window of so many seconds with so many calls; `returns_to`: of the sampled ones.
    void add_window(double seconds, std::uint64_t calls,
                    const std::vector<std::uint64_t>& returns_to);

    [[nodiscard]] const CallRate& rate() const { return rate_; }

    /// Of the calls whose return address was sampled, by that.
    [[nodiscard]] const std::map<std::uint64_t, ReturnPlace>& places() const { return places_; }

  private:
    CallRate rate_;
    std::map<std::uint64_t, ReturnPlace> places_;
};

}  // namespace beamdump::sampler
