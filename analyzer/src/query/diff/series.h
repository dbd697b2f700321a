#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace beamdump::query {

/// One number in all dumps, in their order.
struct Series {
    std::vector<std::optional<std::uint64_t>> values;  ///< nothing: the dump does not say it
    /// From the first dump that says it to the last one.
    std::optional<std::int64_t> change;
    /// Nothing where the dumps do not say their times, or not in ascending order.
    std::optional<std::int64_t> change_per_hour;
    std::uint64_t steps = 0;  ///< from one dump that says it to the next
    std::uint64_t rises = 0;  ///< steps in which it grew
    /// From two steps on: whether it grows all the time. At least two thirds of the steps, and two
    /// of them, have a quarter or more of the growth that is their share by time (by number where
    /// times are not known), and no step takes back more than a quarter of the whole growth.
    std::optional<bool> steady;

    [[nodiscard]] std::int64_t growth() const { return change.value_or(0); }
};

/// `times_us`: of the dumps, since the Unix epoch.
Series make_series(std::vector<std::optional<std::uint64_t>> values,
                   std::span<const std::optional<std::int64_t>> times_us);

/// Whether a number of things grew by more than numbers of independent things vary: more than four
/// standard deviations of a Poisson distribution.
bool exceeds_variation(std::uint64_t before, std::uint64_t after);

}  // namespace beamdump::query
