#pragma once

#include <libdump/base/budget.h>
#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <array>
#include <bitset>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string_view>
#include <sys/types.h>
#include <unordered_map>
#include <vector>

namespace beamdump::crash {

/// What begins at an address.
enum class ObjectStart : std::uint8_t { kNone, kCell, kBoxed };

/// Words by their addresses, put there in any order: memory as it was. A word is either final, or
/// the address of an object, of which only the whole image tells whether it is a cell. Holds some
/// MiB of words; the others are in a temporary file without a name. In memory for each 4 KiB of
/// words: about 230 bytes.
class WordImage {
  public:
    /// Non-owning: counts what the image takes; null: no bound.
    explicit WordImage(Budget* budget = nullptr) : budget_(budget) {}
    WordImage(const WordImage&) = delete;
    WordImage& operator=(const WordImage&) = delete;
    ~WordImage() { give_back(); }

    static constexpr std::uint64_t kWordBytes = 8;
    static constexpr std::uint64_t kBlockWords = 512;

    struct Word {
        std::uint64_t value = 0;
        bool is_pointer = false;
    };
    /// Words one after the other, and what little lay between them.
    struct Stretch {
        std::uint64_t address = 0;
        std::uint64_t words = 0;
    };

    /// Addresses are multiples of 8.
    Result<void> put(std::uint64_t address, Word word);
    void begin(std::uint64_t address, ObjectStart what);
    /// Like begin(), for a line that was not read yet. What several lines begin at one address is
    /// not known: object_at() gives kNone for it, begins_twice() is true.
    void begin_line(std::uint64_t address, ObjectStart what);
    [[nodiscard]] bool begins_twice(std::uint64_t address);

    /// Whether none of these words has been put.
    Result<bool> is_free(std::uint64_t address, std::uint64_t words);
    /// Whether an object begins within these words, behind the first.
    bool begins_within(std::uint64_t address, std::uint64_t words);

    [[nodiscard]] ObjectStart object_at(std::uint64_t address);
    [[nodiscard]] bool empty() const { return blocks_.empty(); }
    /// Words that were put, one put twice counted once.
    [[nodiscard]] std::uint64_t words() const { return words_; }

    /// All words in ascending order, in stretches that end where `gap` words or more are missing.
    Result<std::vector<Stretch>> stretches(std::uint64_t gap);

    /// Copies words; those that were never put are `missing`.
    Result<void> read(std::uint64_t address, std::span<Word> into, std::uint64_t missing);
    /// Copies words up to the first that was never put, or the end of a block; gives how many.
    Result<std::size_t> read_present(std::uint64_t address, std::span<Word> into);

    void clear();

  private:
    static constexpr std::size_t kBlocksHeld = 8192;
    static constexpr std::size_t kEvictedAtOnce = 64;
    static constexpr std::size_t kRecentPlaces = 64;

    struct Block {
        std::array<std::uint64_t, kBlockWords> words{};
        std::bitset<kBlockWords> pointers;
        std::bitset<kBlockWords> present;
        bool stored = false;  // the file has these words
    };
    struct Place {
        Block* block = nullptr;  // null: in the file only
        std::uint64_t in_file = 0;
        bool has_file_place = false;
        std::list<std::uint64_t>::iterator recent;
        // Both at one slot: several lines begin there.
        std::bitset<kBlockWords> cells;
        std::bitset<kBlockWords> boxed;
    };
    static constexpr std::uint64_t kPlaceBytes = 256;  // with its part of the tables

    Place& make_place(std::uint64_t number);
    void give_back();
    Place* place_of(std::uint64_t number);
    Result<Block*> block(std::uint64_t number, bool make);
    Result<void> make_room();
    Result<void> store(std::span<Place* const> places);
    Result<void> load(const Place& place);
    [[nodiscard]] std::unexpected<Error> file_error(std::string_view action, ssize_t result) const;

    Budget* budget_;
    std::unordered_map<std::uint64_t, Place> blocks_;
    std::array<std::pair<std::uint64_t, Place*>, kRecentPlaces> recent_places_{};
    std::list<std::uint64_t> recent_;  // of those in memory, the last used first
    std::vector<std::unique_ptr<Block>> pool_;
    std::vector<Block*> free_;
    std::uint64_t last_number_ = 0;
    Block* last_block_ = nullptr;
    Descriptor file_;
    std::uint64_t file_blocks_ = 0;
    std::uint64_t words_ = 0;
};

}  // namespace beamdump::crash
