#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
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
    /// How much more time it stands for than its own: of samples next to a collection.
    double weight = 1;
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
    /// One of them stands for more time than it has, in samples.
    void stands_for_more(std::size_t interval, double time) {
        /// Less own time is no measure of what the process did before and after.
        constexpr double kLeastTime = 0.25;
        double own = 0;
        for (const auto& part : parts_of(all_[interval])) {
            own += part.time;
        }
        all_[interval].weight += time / std::max(own, kLeastTime);
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

inline constexpr std::uint32_t kNoGroup = kGroups;

/// What words are split by.
struct Seen {
    const Intervals& intervals;
    std::span<const std::uint32_t> function_of;  ///< of each stack
    /// Samples of each function, by the group of the burst.
    std::span<const std::array<std::uint64_t, kGroups>> samples;
};

/// How words are split.
struct WordsSplit {
    std::vector<double> by_stack{};
    std::vector<double> by_function{};
    /// The part of by_function that was found in intervals in which the process was scheduled out.
    std::vector<double> scheduled_out{};
    /// How many times the words that were split to a function in intervals each function has.
    std::vector<double> scale{};
};

/// Whether a function's words are found without the intervals in which its process was scheduled
/// out, since it is often enough in others. By function.
std::vector<bool> found_inside(const Seen& seen);

/// Splits words to stacks and functions, without bursts of the group `without`. Each function has a
/// rate of words and time, by which the words of an interval are split; the rates are found from
/// all intervals and repeated until they stand (expectation maximisation). Those of functions that
/// are `inside` are found in intervals in which the process was not scheduled out; those of the
/// others in all, where they share what the first leave. A function's words are its rate by its
/// part of all samples. The sum is that of the words that were split.
WordsSplit split_words(const Seen& seen, const std::vector<bool>& inside, std::uint32_t without);

}  // namespace beamdump::sampler
