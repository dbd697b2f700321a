#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace beamdump {

/// A set of word addresses: one bit for each word of every 32 KiB page that holds a member.
class AddressMarks {
  public:
    AddressMarks() : recent_(kRecent) {}

    /// Adds an address; says whether it was new. Low bits below a word are ignored.
    bool add(std::uint64_t address) {
        Page& page = page_of(address);
        std::uint64_t& bits = page.bits[index_of(address) / 64];
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

    /// Forgets all members, in time that depends on the pages touched since the last clear().
    void clear();

    [[nodiscard]] bool empty() const { return touched_.empty(); }
    /// Bytes of the bits, for statements about memory.
    [[nodiscard]] std::uint64_t held_bytes() const { return pages_.size() * sizeof(Page); }

  private:
    static constexpr std::uint64_t kWordBytes = 8;
    static constexpr std::uint64_t kPageWords = 4096;
    static constexpr std::size_t kRecent = 4096;

    struct Page {
        std::array<std::uint64_t, kPageWords / 64> bits{};
        bool touched = false;
    };
    struct Recent {
        std::uint64_t number = ~std::uint64_t{0};
        Page* page = nullptr;  ///< non-owning
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
        return recent.number == number ? recent.page : find_page(number);
    }
    Page& page_of(std::uint64_t address) {
        const std::uint64_t number = number_of(address);
        Recent& recent = recent_[number % kRecent];
        if (recent.number != number) {
            recent = {number, &make_page(number)};
        }
        if (!recent.page->touched) {
            recent.page->touched = true;
            touched_.push_back(recent.page);
        }
        return *recent.page;
    }
    [[nodiscard]] const Page* find_page(std::uint64_t number) const;
    Page& make_page(std::uint64_t number);

    std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
    std::vector<Recent> recent_;
    std::vector<Page*> touched_;  ///< non-owning
};

}  // namespace beamdump
