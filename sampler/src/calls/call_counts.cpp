#include "calls/call_counts.h"

namespace beamdump::sampler {
namespace {

constexpr std::size_t kMostPlaces = 4096;

}  // namespace

void CallCounts::add_window(double seconds, std::uint64_t calls,
                            const std::vector<std::uint64_t>& returns_to) {
    if (seconds <= 0) {
        return;
    }
    rate_.add_window(seconds, calls);
    for (const auto place : returns_to) {
        if (places_.size() < kMostPlaces || places_.contains(place)) {
            auto& known = places_[place];
            known.weight +=
                static_cast<double>(calls) / seconds / static_cast<double>(returns_to.size());
            ++known.samples;
        }
    }
}

}  // namespace beamdump::sampler
