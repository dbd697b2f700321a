#pragma once

#include "alloc/intervals.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace beamdump::sampler {

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
    /// Of by_function: found in intervals in which the process was scheduled out.
    std::vector<double> scheduled_out{};
    /// Of each function: its words are so many times those that were split to it in intervals.
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
