#pragma once

#include <libdump/term/text_buffer.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump {

/// Lays a term's text out in lines of a width: what fits into the rest of a line stays on it, of
/// anything else each part gets a line of its own, indented by two columns a level, by half of the
/// width at most. Long strings and numbers are never broken.
///
/// Memory: the text that may still fit, one line at most; none for nesting. Time: for each byte
/// that of a line at most.
class TermLayout {
  public:
    static constexpr std::size_t kMaxWidth = 1000;

    /// `width`: kMaxWidth at most.
    explicit TermLayout(std::size_t width) : width_(width) {}

    void text(std::string_view text, std::string& out);
    void mark(LayoutMark mark, std::string& out);
    /// The end of the term.
    void end(std::string& out);

  private:
    /// What is decided once it is known how long the text that follows is.
    enum class Waiting : std::uint8_t {
        kNone,
        kGroup,  ///< whether all of a bracket's parts stay on the line
        kPart,   ///< whether a short part does
    };
    struct Held {
        std::size_t at = 0;  ///< in held_
        LayoutMark mark = LayoutMark::kOpen;
    };

    void put(std::string_view text, std::string& out);
    void new_line(std::string& out);
    void begin_waiting(Waiting what);
    /// Decides that what is held fits.
    void stay(std::string& out);
    /// Decides that it does not, and goes on with what is held.
    void break_up(std::string& out);
    void break_mark(LayoutMark mark, std::string& out);
    [[nodiscard]] bool is_over(std::size_t reserve) const;

    std::size_t width_;
    std::size_t column_ = 0;
    std::uint64_t broken_ = 0;  ///< open brackets whose parts have lines of their own
    Waiting waiting_ = Waiting::kNone;
    std::uint64_t waiting_depth_ = 0;  ///< open brackets within what is held
    std::string held_;
    std::vector<Held> marks_;
    std::size_t held_columns_ = 0;
    bool drop_space_ = false;  ///< the next character is a space that a line's end replaces
};

/// A printer's text laid out, in pieces of any size; TermPrinter or ExternalTermPrinter, started.
/// Non-owning.
template <typename Printer>
class LaidOutText {
  public:
    LaidOutText(Printer& printer, std::size_t width) : printer_(&printer), layout_(width) {
        printer_->note_marks();
    }

    /// Appends at most `max_bytes` of the text to `out` and gives how many; 0 only when done (or
    /// for max_bytes 0).
    std::size_t next(std::size_t max_bytes, std::string& out) {
        while (ready_.size() - given_ < max_bytes && !ended_) {
            advance();
        }
        const std::size_t count = std::min(max_bytes, ready_.size() - given_);
        out.append(ready_, given_, count);
        given_ += count;
        if (given_ == ready_.size()) {
            ready_.clear();
            given_ = 0;
        }
        return count;
    }
    [[nodiscard]] bool done() const { return ended_ && given_ == ready_.size(); }

  private:
    static constexpr std::size_t kPiece = 4096;

    void advance() {
        piece_.clear();
        const std::size_t got = printer_->next(kPiece, piece_);
        printer_->take_marks(marks_);
        std::size_t from = 0;
        std::size_t used = 0;
        for (; used < marks_.size() && marks_[used].at <= at_ + got; ++used) {
            const auto to = static_cast<std::size_t>(marks_[used].at - at_);
            layout_.text(std::string_view(piece_).substr(from, to - from), ready_);
            layout_.mark(marks_[used].mark, ready_);
            from = to;
        }
        marks_.erase(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(used));
        layout_.text(std::string_view(piece_).substr(from), ready_);
        at_ += got;
        if (got == 0) {
            layout_.end(ready_);
            ended_ = true;
        }
    }

    Printer* printer_;
    TermLayout layout_;
    std::uint64_t at_ = 0;
    std::string piece_;
    std::vector<PlacedMark> marks_;
    std::string ready_;
    std::size_t given_ = 0;
    bool ended_ = false;
};

}  // namespace beamdump
