#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace beamdump::sampler {

/// Bursts are left out by groups to find how far a share may be off (jackknife).
inline constexpr std::uint32_t kGroups = 20;

/// A stack in an interval.
struct IntervalPart {
    std::uint32_t stack = 0;  ///< a node of the stack tree, whose place is the function
    float time = 0;           ///< in samples
};

/// Between two samples of a process with a known heap top.
struct Interval {
    std::uint32_t first_part = 0;
    std::uint32_t parts = 0;
    std::uint32_t group = 0;  ///< of its burst
    double words = 0;         ///< by which the heap grew
    bool scheduled_out = false;
};

/// Intervals and what was seen in them.
class Intervals {
  public:
    /// `interval`: without its parts.
    void add(Interval interval, std::span<const IntervalPart> parts) {
        interval.first_part = static_cast<std::uint32_t>(parts_.size());
        interval.parts = static_cast<std::uint32_t>(parts.size());
        all_.push_back(interval);
        parts_.insert(parts_.end(), parts.begin(), parts.end());
    }
    [[nodiscard]] const std::vector<Interval>& all() const { return all_; }
    [[nodiscard]] std::span<const IntervalPart> parts_of(const Interval& interval) const {
        return std::span(parts_).subspan(interval.first_part, interval.parts);
    }
    [[nodiscard]] std::size_t parts() const { return parts_.size(); }

  private:
    std::vector<Interval> all_;
    std::vector<IntervalPart> parts_;
};

}  // namespace beamdump::sampler
