#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace beamdump::query {

/// Microseconds from one time to another. nullopt if the span in nanoseconds exceeds 64 bits, as in
/// a damaged or forged dump.
inline std::optional<std::int64_t> span_us(std::int64_t from_us, std::int64_t to_us) {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max() / 1000;
    std::int64_t span = 0;
    const bool fits = !__builtin_sub_overflow(to_us, from_us, &span);
    return fits && span >= -kMax && span <= kMax ? std::optional(span) : std::nullopt;
}

}  // namespace beamdump::query
