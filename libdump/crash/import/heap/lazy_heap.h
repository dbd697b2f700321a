#pragma once

#include <libdump/crash/import/heap/heap_lines.h>
#include <libdump/crash/import/heap/heap_parser.h>
#include <libdump/crash/import/words/node_terms.h>

#include <unordered_map>

namespace beamdump::crash {

/// A process's heap whose lines are read lazily, each of them once.
class LazyHeap {
  public:
    /// Non-owning. `section`: the heap's lines.
    LazyHeap(const CrashDump& dump, NodeTerms& node)
        : dump_(dump), node_(node), image_(&dump.budget()) {}

    /// Finds the places of its objects in one pass over its lines.
    Result<void> open(Span section);

    /// The beginnings of all objects, and the words read so far.
    [[nodiscard]] WordImage& image() { return image_; }
    /// At least one word from an address on, up to the next gap. kUnmapped if there is none.
    Result<std::size_t> words(std::uint64_t address, std::span<std::uint64_t> into);
    /// An upper bound for the words of all its objects.
    [[nodiscard]] std::uint64_t most_words() const { return lines_ ? lines_->most_words() : 0; }
    /// Counts the object at an address that a term refers to if it was left out; once.
    void missed(std::uint64_t address);
    /// Reads the lines that were not read yet, and counts all objects that were left out and all
    /// malformed lines.
    Result<void> read_rest();
    /// What was counted.
    [[nodiscard]] const TextCounts& met() const { return met_; }

  private:
    Result<void> read_page(std::uint64_t page);
    Result<void> read_part(std::uint64_t number);

    const CrashDump& dump_;
    NodeTerms& node_;
    WordImage image_;
    std::unique_ptr<HeapLines> lines_;
    std::vector<bool> parts_read_;
    std::uint64_t last_page_ = ~std::uint64_t{0};
    std::unordered_map<std::uint64_t, LeftOut> left_out_;
    TextCounts lines_met_;  // malformed, of no object
    TextCounts met_;
    std::vector<WordImage::Word> part_;
};

}  // namespace beamdump::crash
