#pragma once

#include <cstdint>
#include <vector>

namespace beamdump::redact {

/// Words as the VM has them, of tests of the word passes.
using Words = std::vector<std::uint64_t>;

inline constexpr std::uint64_t kText = 0x7465'7263'6573'2121;  // "!!secret"
inline constexpr std::uint64_t kNil = 0x3B;
inline constexpr std::uint64_t kX = 0x7878'7878'7878'7878;  // what hides a text

constexpr std::uint64_t small(std::uint64_t value) {
    return value << 4U | 0xFU;
}
constexpr std::uint64_t header(std::uint64_t subtag, std::uint64_t arity) {
    return arity << 6U | subtag << 2U;
}

}  // namespace beamdump::redact
