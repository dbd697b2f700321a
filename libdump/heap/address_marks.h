#pragma once

#include <libdump/base/scratch_array.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace beamdump {

/// A set of word addresses: one bit for each word of every 32 KiB page that holds a member. The
/// bits are in scratch space; in memory always 64 bytes a page.
class AddressMarks {
  public:
    /// Non-owning; null: all in memory.
    explicit AddressMarks(ScratchSpace* space = nullptr) : pages_(space), recent_(kRecent) {}

    /// Adds an address; true if it was new. Low bits below a word are ignored. Fails where the
    /// scratch space does.
    [[nodiscard]] Result<bool> add(std::uint64_t address) {
        auto page = page_of(address);
        if (!page) {
            return std::unexpected(std::move(page).error());
        }
        std::uint64_t& bits = (*page)->bits[index_of(address) / 64];
        const std::uint64_t bit = std::uint64_t{1} << (index_of(address) % 64);
        const bool is_new = (bits & bit) == 0;
        bits |= bit;
        return is_new;
    }

    [[nodiscard]] bool has(std::uint64_t address) const {
        const Page* page = find(address);
        return page != nullptr &&
               (page->bits[index_of(address) / 64] >> (index_of(address) % 64) & 1U) != 0;
    }

    /// Numbers the members from 0 on, in no particular order, and returns their count. Members
    /// added later have no number.
    std::uint64_t number_members();
    /// A member's number.
    [[nodiscard]] std::uint64_t number_of_member(std::uint64_t address) const;

    /// Removes all members; the time depends on the pages touched since the last clear().
    void clear();

    [[nodiscard]] bool empty() const { return touched_.empty(); }
    /// Memory of the bits.
    [[nodiscard]] std::uint64_t held_bytes() const { return pages_.size() * sizeof(Page); }

  private:
    static constexpr std::uint64_t kWordBytes = 8;
    static constexpr std::uint64_t kPageWords = 4096;
    static constexpr std::size_t kRecent = 4096;

    struct Page {
        std::array<std::uint64_t, kPageWords / 64> bits{};
        std::uint64_t first_number = 0;  ///< of its members
        bool touched = false;
    };
    using Place = std::uint32_t;  ///< in pages_: 2^32 of them are more than any address space
    struct Recent {
        std::uint64_t number = ~std::uint64_t{0};
        Place place = 0;
    };

    static std::uint64_t index_of(std::uint64_t address) {
        return address / kWordBytes % kPageWords;
    }
    static std::uint64_t number_of(std::uint64_t address) {
        return address / kWordBytes / kPageWords;
    }
    [[nodiscard]] const Page* find(std::uint64_t address) const {
        const std::uint64_t number = number_of(address);
        const Recent& recent = recent_[number % kRecent];
        return recent.number == number ? &pages_[recent.place] : find_page(number);
    }
    Result<Page*> page_of(std::uint64_t address) {
        const std::uint64_t number = number_of(address);
        Recent& recent = recent_[number % kRecent];
        if (recent.number != number) {
            auto place = place_of(number);
            if (!place) {
                return std::unexpected(std::move(place).error());
            }
            recent = {number, *place};
        }
        Page& page = pages_[recent.place];
        if (!page.touched) {
            page.touched = true;
            touched_.push_back(recent.place);
        }
        return &page;
    }
    [[nodiscard]] const Page* find_page(std::uint64_t number) const;
    /// Makes the page if there is none.
    Result<Place> place_of(std::uint64_t number);

    ScratchArray<Page> pages_;
    std::unordered_map<std::uint64_t, Place> places_;
    std::vector<Recent> recent_;
    std::vector<Place> touched_;
};

}  // namespace beamdump
