#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace beamdump {

/// Edit distance in bytes: insertions, deletions, replacements and swaps of neighbours. ASCII case
/// is ignored. `limit` + 1 if it is more than `limit`.
std::size_t edit_distance(std::string_view one, std::string_view other, std::size_t limit);

/// Finds the name that a misspelled one probably means. Memory: two names.
class Nearest {
  public:
    explicit Nearest(std::string_view word);

    void add(std::string_view candidate);
    /// The candidate with the smallest edit distance, the first of equals. A third of the word's
    /// letters may differ; where no candidate is that close, the first that contains the word (of
    /// four letters or more). Else empty.
    [[nodiscard]] const std::string& best() const { return best_.empty() ? containing_ : best_; }

  private:
    std::string word_;
    std::size_t most_;  ///< a candidate must not be farther
    std::string best_;
    std::string containing_;
    bool exact_ = false;
};

}  // namespace beamdump
