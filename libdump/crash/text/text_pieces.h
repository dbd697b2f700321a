#pragma once

#include <libdump/crash/text/crash_dump.h>

#include <optional>
#include <semaphore>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

namespace beamdump::crash {

/// A part of the text in large pieces, in order, each with the lines of sections in it: read and
/// searched by two threads in turn, for copying a text from the page cache takes longer than
/// searching it. Memory: 2 MiB.
class TextPieces {
  public:
    TextPieces(const TextSource& text, Span part);
    TextPieces(const TextPieces&) = delete;
    TextPieces& operator=(const TextPieces&) = delete;
    ~TextPieces();

    struct Piece {
        std::string_view text;
        std::span<const std::size_t> lines;  ///< as SectionScanner::find_lines() gives them
    };
    /// The next piece, until the call after; nothing at the end, or where the file is shorter now.
    Result<std::optional<Piece>> next();

  private:
    static constexpr std::size_t kPieceBytes = 1U << 20U;
    struct Slot {
        std::uint64_t begin = 0;
        std::vector<char> bytes;
        std::size_t held = 0;
        std::vector<std::size_t> lines;
        Result<void> done;
    };
    void fill(Slot& slot) const;
    void help();

    const TextSource& text_;
    Span part_;
    std::uint64_t next_ = 0;
    Slot own_;
    Slot helped_;
    bool helper_works_ = false;
    bool stop_ = false;
    std::binary_semaphore start_{0};
    std::binary_semaphore finished_{0};
    std::thread helper_;  // only where there is more than one piece
};

/// Lets the scanner find the sections of a part of the text. `on_progress` is called from time to
/// time with the bytes of the part scanned so far, and in all.
Result<void> scan_sections(const TextSource& text, Span part, SectionScanner& scanner,
                           const CrashDump::Progress& on_progress = {});

}  // namespace beamdump::crash
