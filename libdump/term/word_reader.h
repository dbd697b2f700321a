#pragma once

#include <libdump/term/term_context.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace beamdump {

enum class WordStatus : std::uint8_t {
    kHere,
    kUnmapped,  ///< outside all regions, or not aligned to a word
    kAbsent,    ///< in a region, but not in the dump
};

/// Words by address through a cache of small blocks, so that neighbouring words cost one call of
/// the context. Memory: 256 KiB. The context must outlive it and not change.
class WordReader {
  public:
    explicit WordReader(TermContext& context);

    WordStatus read(std::uint64_t address, std::uint64_t& word) {
        const Block& block = blocks_[slot_of(address)];
        if (address >= block.begin && address < block.end && address % sizeof(word) == 0) {
            word = block.words[(address - block.begin) / sizeof(word)];
            return WordStatus::kHere;
        }
        return read_miss(address, word);
    }

    /// Both words of a cons cell.
    WordStatus read_pair(std::uint64_t address, std::uint64_t& first, std::uint64_t& second) {
        const Block& block = blocks_[slot_of(address)];
        if (address >= block.begin && address + 2 * sizeof(first) <= block.end &&
            address % sizeof(first) == 0) {
            const std::size_t at = (address - block.begin) / sizeof(first);
            first = block.words[at];
            second = block.words[at + 1];
            return WordStatus::kHere;
        }
        const WordStatus status = read(address, first);
        return status == WordStatus::kHere ? read(address + sizeof(first), second) : status;
    }

    /// Drops cached words: the context may have other words at the same addresses from here on.
    void forget();

    [[nodiscard]] TermContext& context() const { return *context_; }

  private:
    static constexpr std::size_t kBlockWords = 128;
    static constexpr std::size_t kBlockBytes = kBlockWords * sizeof(std::uint64_t);
    static constexpr std::size_t kBlocks = 256;

    struct Block {
        std::uint64_t begin = 0;  ///< addresses held: [begin, end)
        std::uint64_t end = 0;
        std::array<std::uint64_t, kBlockWords> words;  ///< as far as begin and end say
    };

    static std::size_t slot_of(std::uint64_t address) { return (address / kBlockBytes) % kBlocks; }
    WordStatus read_miss(std::uint64_t address, std::uint64_t& word);

    TermContext* context_;  ///< non-owning
    /// Not set to 0, for there are readers that read a few words each.
    std::unique_ptr<Block[]> blocks_;
    std::vector<std::size_t> filled_;  ///< blocks filled since the last forget(), some repeatedly
};

}  // namespace beamdump
