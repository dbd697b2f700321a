#pragma once

#include <libdump/base/scratch_array.h>
#include <libdump/crash/import/heap/heap_parser.h>
#include <libdump/crash/text/crash_dump.h>

#include <memory>
#include <span>
#include <vector>

namespace beamdump::crash {

/// An index from pages of the heap to parts of a section of heap lines, so that a query reads only
/// the lines that it needs. Built in one pass over the beginnings of lines. A part is the lines
/// that begin in kPartBytes bytes of the section. Memory: 16 bytes for each page of each part, in a
/// temporary file beyond 64 MiB; 8 a part.
class HeapLines {
  public:
    static constexpr std::uint64_t kPartBytes = 64U << 10U;

    /// Page and part; by page, then by part.
    struct Place {
        std::uint64_t page = 0;
        std::uint64_t part = 0;
        auto operator<=>(const Place&) const = default;
    };

    ~HeapLines();
    HeapLines(const HeapLines&) = delete;
    HeapLines& operator=(const HeapLines&) = delete;

    /// Scans the section, and marks in `image` where objects begin. Only kind and size of a line's
    /// object are read. Errors: those of reading the text, and of temporary files.
    static Result<std::unique_ptr<HeapLines>> find(const TextSource& text, Span section,
                                                   const TextFormat& format, WordImage& image,
                                                   Budget& budget);

    [[nodiscard]] std::span<const Place> parts_of(std::uint64_t page) const;
    [[nodiscard]] std::uint64_t parts() const { return begins_.size(); }
    /// The lines of a part; empty if none begins in it.
    [[nodiscard]] Span part(std::uint64_t number) const;
    /// An upper bound for the words of all objects.
    [[nodiscard]] std::uint64_t most_words() const {
        return places_.size() * WordImage::kBlockWords;
    }

  private:
    HeapLines(Span section, Budget& budget);
    void add(std::uint64_t at, std::uint64_t words);
    [[nodiscard]] Result<void> end_part();

    Span section_;
    std::vector<std::uint64_t> begins_;  // of the first line of each part
    std::vector<std::uint64_t> pages_;   // of the current part
    Budget& budget_;
    std::uint64_t file_bytes_ = 0;  // taken of the budget
    ScratchSpace space_;
    ScratchArray<Place> places_;
};

/// Reads a section of heap lines with overlapping or malformed objects again from the beginning, so
/// that the same objects are left out as when its parts are read in any order.
Result<HeapCounts> read_again(const TextSource& source, Span section, const TextFormat& format,
                              Names& names, WordImage& image, WordImage& literals,
                              const std::function<bool(std::uint64_t)>& binary, Budget& budget);

}  // namespace beamdump::crash
