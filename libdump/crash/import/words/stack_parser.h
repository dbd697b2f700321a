#pragma once

#include <libdump/base/error.h>
#include <libdump/crash/import/words/element_parser.h>
#include <libdump/format/text_counts.h>

#include <cstdint>
#include <optional>

namespace beamdump::crash {

/// Reads the lines of a stack, word by word: `y0:I1`, `0x7F...:SReturn addr 0x1240 (a:b/0 + 8)`.
/// What the text lacks, because lines were cut or overwritten, comes as words that lead nowhere: as
/// many as the next good line tells, by its register or by its place on the stack, else one. A
/// return address that is cut behind its place stays one, of code that is not in the dump.
class StackParser {
  public:
    /// `near`: an address in the node's code. Names non-owning.
    StackParser(TextCursor text, const TextFormat& format, Names& names, std::uint64_t near)
        : text_(std::move(text)), format_(format), names_(names), near_(near) {}

    /// The next word; nothing behind the last, and on an error.
    std::optional<WordImage::Word> next();

    [[nodiscard]] const std::optional<Error>& error() const { return text_.error(); }
    /// Lines that could not be read.
    [[nodiscard]] const TextCounts& counts() const { return counts_; }
    /// Where the stack begins, as the places of its words tell.
    [[nodiscard]] std::optional<std::uint64_t> top() const { return top_; }

  private:
    struct Line {
        WordImage::Word word;
        std::optional<std::uint64_t> index;  ///< of a y register
        std::optional<std::uint64_t> place;  ///< on the stack
        bool is_return = false;              ///< of a frame, with its place
        bool is_damaged = false;             ///< its address or its place is lost
    };
    std::optional<Line> take_line();
    std::optional<WordImage::Word> take_code();
    [[nodiscard]] std::uint64_t lost_before(const Line& line) const;
    WordImage::Word give(const Line& line);
    WordImage::Word lost_word();

    TextCursor text_;
    const TextFormat& format_;
    Names& names_;
    std::uint64_t near_;
    TextCounts counts_;
    std::optional<std::uint64_t> top_;
    std::uint64_t words_ = 0;      // given
    std::uint64_t register_ = 0;   // the next one's index
    bool returned_ = false;        // a return address was given
    std::optional<Line> waiting_;  // behind the words that are lost
    std::uint64_t lost_ = 0;       // still to be given
};

}  // namespace beamdump::crash
