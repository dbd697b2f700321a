#pragma once

#include <libdump/heap/term_walk.h>

#include <cstdint>
#include <span>
#include <vector>

namespace beamdump {

/// One step of the way from a root to a term.
struct PathStep {
    WalkLevel::Kind kind = WalkLevel::Kind::kTuple;
    std::uint64_t address = 0;  ///< of the object that the step leads out of
    std::uint64_t index = 0;    ///< of its slot, as in WalkLevel
};

/// A large term and the way to it.
struct LargeTerm {
    std::uint64_t root = 0;  ///< the number it was offered with
    std::uint64_t word = 0;
    std::uint64_t words = 0;     ///< by the measure of whoever offered it
    std::vector<PathStep> path;  ///< the last steps where there are more than kLongestPath
};

/// The largest of all terms offered: so many of them. Of equal ones the first offered stay.
class LargestTerms {
  public:
    static constexpr std::size_t kLongestPath = 64;

    explicit LargestTerms(std::size_t count) : count_(count) {}

    void offer(std::uint64_t root, std::uint64_t word, std::uint64_t words,
               std::span<const WalkLevel> path);

    /// Those offered with this number that are among the largest, as things stand; in no order.
    [[nodiscard]] std::vector<LargeTerm> of_root(std::uint64_t root) const;
    /// Largest first.
    [[nodiscard]] std::vector<LargeTerm> sorted() const;

  private:
    std::size_t count_;
    std::vector<LargeTerm> terms_;  // a heap: the smallest first
};

/// Whether a term of so many words is more than a wrapping of its largest part: that has less than
/// 90% of them.
constexpr bool exceeds_largest_part(std::uint64_t words, std::uint64_t largest_part) {
    return largest_part < words - words / 10;
}

/// The word that leads to an object at an address: to a list's first cell, or a boxed object.
std::uint64_t word_to(const TagScheme& scheme, std::uint64_t address, bool is_cell);
/// The word that leads to the object of a level.
std::uint64_t word_to(const TagScheme& scheme, const WalkLevel& level);

}  // namespace beamdump
