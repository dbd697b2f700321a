#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace beamdump {

/// How many letters must be inserted, deleted, replaced or swapped with their neighbour to make one
/// text of the other, in bytes and without regard to ASCII case; `limit` + 1 where it is more than
/// `limit`.
std::size_t edit_distance(std::string_view one, std::string_view other, std::size_t limit);

/// Finds which of many names was probably meant by a misspelled one. Memory: two names.
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
