#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace beamdump::redact {

/// A word with zeros behind its first bytes, the lowest ones: the end of a binary's text.
constexpr std::uint64_t first_bytes(std::uint64_t word, std::uint64_t bytes) {
    return bytes >= 8 ? word : word & ((std::uint64_t{1} << 8U * bytes) - 1);
}

/// Words and atoms that remain though their like is hidden, for the lists of a policy: found by a
/// look at all terms of a dump. A word is known by its address and itself, so that other words that
/// stood there at another time do not remain. Memory: 8 bytes a word, 32 MiB at most.
class KeptTerms {
  public:
    /// Words beyond are hidden, and counted.
    static constexpr std::size_t kMaxWords = std::size_t{4} << 20U;

    /// A word that remains: of a term, or of the text of a binary.
    void keep_word(std::uint64_t address, std::uint64_t word);
    void keep_atom(std::uint64_t index);
    /// An atom that is hidden, also where it is kept elsewhere.
    void hide_atom(std::uint64_t index);
    /// To be called after the last word, before the first question.
    void seal();

    [[nodiscard]] bool has_word(std::uint64_t address, std::uint64_t word) const;
    [[nodiscard]] bool has_atom(std::uint64_t index) const;
    [[nodiscard]] bool hides_atom(std::uint64_t index) const;
    /// Words that were to remain and are hidden.
    [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  private:
    std::vector<std::uint64_t> words_;  ///< hashes of address and word; sorted by seal()
    bool full_ = false;                 ///< they are sorted, and no more are added
    std::uint64_t left_out_ = 0;
    std::vector<bool> atoms_;   // by index
    std::vector<bool> hidden_;  // by index
};

}  // namespace beamdump::redact
