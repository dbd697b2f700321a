#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace beamdump::coding {

// Changes of words in place that make them compress better, each with its inverse. All spans of
// words have a multiple of 8 bytes, of words of 8 bytes, at any alignment.

inline constexpr std::size_t kWordBytes = 8;

/// The addresses of a region: those that its words' pointers may lead to.
struct RegionRange {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
};

/// Whether swap_distances() can be undone for that region: it ends below 2^56, as all user memory
/// does on x86-64 and AArch64.
[[nodiscard]] bool has_distances(RegionRange range);

/// Replaces each word that is a pointer into `range` by its distance from the word's own address,
/// plus a constant; `first_address` is the address of the first word. Low bits, a term's tag, stay.
/// A word that looks like a distance becomes the pointer, so that the change is its own inverse.
/// `range` must satisfy has_distances() and hold `first_address`.
void swap_distances(std::span<std::byte> words, RegionRange range, std::uint64_t first_address);

/// How many words, after swap_distances(), are neither small numbers nor pointers nor distances:
/// most of them are parts of texts, or of floats.
[[nodiscard]] std::size_t words_like_text(std::span<const std::byte> words);

/// Whether to_planes() makes `words` words compress better, of which `texts` are words_like_text().
[[nodiscard]] bool planes_pay(std::size_t texts, std::size_t words);

/// Replaces each word but the first by its difference from the one before it.
void to_differences(std::span<std::byte> words);
void from_differences(std::span<std::byte> words);

/// Sorts the bytes of all words by their place in the word: first each word's lowest byte, ...
/// `scratch` has at least as many bytes as `words`, and does not overlap them.
void to_planes(std::span<std::byte> words, std::span<std::byte> scratch);
void from_planes(std::span<std::byte> words, std::span<std::byte> scratch);

}  // namespace beamdump::coding
