#pragma once

#include <libdump/base/first_items.h>
#include <libdump/heap/term_walk.h>

#include <cstdint>
#include <span>
#include <vector>

namespace beamdump {

/// One step of the path from a root to a term.
struct PathStep {
    WalkLevel::Kind kind = WalkLevel::Kind::kTuple;
    std::uint64_t address = 0;  ///< of the object that the step leads out of
    std::uint64_t index = 0;    ///< of its slot, as in WalkLevel
};

/// A large term and the path to it.
struct LargeTerm {
    std::uint64_t root = 0;  ///< the number it was offered with
    std::uint64_t word = 0;
    std::uint64_t words = 0;     ///< by the caller's measure
    std::vector<PathStep> path;  ///< at most the last kLongestPath steps
};

/// The N largest of all terms offered; of equal ones the first offered stay.
class LargestTerms {
  public:
    static constexpr std::size_t kLongestPath = 64;

    explicit LargestTerms(std::size_t count);

    void offer(std::uint64_t root, std::uint64_t word, std::uint64_t words,
               std::span<const WalkLevel> path);

    /// The terms offered with this root that are among the largest so far; unordered.
    [[nodiscard]] std::vector<LargeTerm> of_root(std::uint64_t root) const;
    /// Largest first.
    [[nodiscard]] std::vector<LargeTerm> sorted() const;

  private:
    std::size_t count_;
    FirstItems<LargeTerm, bool (*)(const LargeTerm&, const LargeTerm&)> terms_;
};

/// Whether a term is more than a wrapper of its largest part, which then has less than 90% of its
/// words.
constexpr bool exceeds_largest_part(std::uint64_t words, std::uint64_t largest_part) {
    return largest_part < words - words / 10;
}

/// The word that leads to an object at an address: to a list's first cell, or a boxed object.
std::uint64_t word_to(const TagScheme& scheme, std::uint64_t address, bool is_cell);
/// The word that leads to the object of a level.
std::uint64_t word_to(const TagScheme& scheme, const WalkLevel& level);

}  // namespace beamdump
