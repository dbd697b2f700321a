#include <libdump/term/big_integer.h>

#include <fmt/format.h>

#include <vector>

namespace beamdump {

namespace {

/// The largest power of ten in a word, of 19 digits. Its highest bit is set, as division by
/// reciprocal needs.
constexpr std::uint64_t kChunk = 10'000'000'000'000'000'000U;

__extension__ using Wide = unsigned __int128;

/// floor((2^128 - 1) / kChunk) - 2^64.
constexpr auto kReciprocal = static_cast<std::uint64_t>(~Wide{0} / kChunk);

/// Divides high:low by kChunk, high < kChunk (Moeller and Granlund, "Improved division by invariant
/// integers", algorithm 4): several times as fast as the general division of two words by one.
std::uint64_t divide_step(std::uint64_t high, std::uint64_t low, std::uint64_t& remainder) {
    const Wide estimate = static_cast<Wide>(kReciprocal) * high + (static_cast<Wide>(high) << 64U) +
                          low + (static_cast<Wide>(1) << 64U);
    auto quotient = static_cast<std::uint64_t>(estimate >> 64U);
    remainder = low - quotient * kChunk;
    if (remainder > static_cast<std::uint64_t>(estimate)) {
        --quotient;
        remainder += kChunk;
    }
    if (remainder >= kChunk) {
        ++quotient;
        remainder -= kChunk;
    }
    return quotient;
}

/// Divides in place by kChunk; returns the remainder and drops leading zero words.
std::uint64_t divide_by_chunk(std::vector<std::uint64_t>& words) {
    std::uint64_t remainder = 0;
    for (std::size_t i = words.size(); i-- > 0;) {
        words[i] = divide_step(remainder, words[i], remainder);
    }
    while (!words.empty() && words.back() == 0) {
        words.pop_back();
    }
    return remainder;
}

}  // namespace

std::string decimal(std::span<const std::uint64_t> magnitude, bool negative) {
    std::vector<std::uint64_t> words(magnitude.begin(), magnitude.end());
    while (!words.empty() && words.back() == 0) {
        words.pop_back();
    }
    if (words.empty()) {
        return "0";
    }
    std::vector<std::uint64_t> chunks;  // lowest first
    chunks.reserve(words.size() + words.size() / 64 + 1);
    while (!words.empty()) {
        chunks.push_back(divide_by_chunk(words));
    }
    std::string text = fmt::format("{}{}", negative ? "-" : "", chunks.back());
    text.reserve(text.size() + 19 * chunks.size());
    for (std::size_t i = chunks.size() - 1; i-- > 0;) {
        fmt::format_to(std::back_inserter(text), "{:019}", chunks[i]);
    }
    return text;
}

}  // namespace beamdump
