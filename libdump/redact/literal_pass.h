#pragma once

#include <libdump/redact/word_pass.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>

namespace beamdump::redact {

/// Overwrites the values in the pages of the literals. Objects are in literal areas, one after the
/// other; what is between these, blocks of the allocator that are free among it, is zeroed.
///
/// An area is found by its head (ErtsLiteralArea of global.h: the list of off-heap things, the
/// area's end, its first word; OTP 25.2.3, 27.3.4 and 29.1.1 alike) in a block that is in use
/// (erl_alloc_util.h: the block's size, and flags in the three lowest bits of its first word). A
/// page that comes again, as the node changed it, continues as it did before: an area's words never
/// change. Memory: 48 bytes a page.
class LiteralPass {
  public:
    explicit LiteralPass(WordPass pass) : pass_(std::move(pass)) {}

    /// Begins a region; its words follow by run().
    void start(std::uint64_t address, std::uint64_t words);
    void run(std::span<std::byte> words);

    [[nodiscard]] std::uint64_t blanked() const { return pass_.blanked(); }

  private:
    void resume();
    void page_ends();
    [[nodiscard]] bool is_area_end(std::uint64_t word) const;

    struct Point {
        std::uint64_t area_end = 0;
        WordPass::Place place;
        bool operator==(const Point&) const = default;
    };
    WordPass pass_;
    std::uint64_t address_ = 0;              ///< of the next word
    std::uint64_t region_end_ = 0;           ///< one past its last word
    std::uint64_t area_end_ = 0;             ///< of the area that the next word is in; 0: in none
    std::uint64_t passed_ = 0;               ///< words of the region so far
    std::array<std::uint64_t, 2> before_{};  ///< the last two words, as they were
    std::unordered_map<std::uint64_t, Point> pages_;
};

}  // namespace beamdump::redact
