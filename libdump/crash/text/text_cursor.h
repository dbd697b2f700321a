#pragma once

#include <libdump/crash/text/text_source.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace beamdump::crash {

/// Goes through a part of the text once, from its front. At its end, and after a failure to read,
/// every look ahead is empty.
class TextCursor {
  public:
    TextCursor(const TextSource& source, std::uint64_t begin, std::uint64_t end)
        : source_(source),
          next_read_(begin),
          end_(end),
          buffer_(std::min<std::uint64_t>(end - std::min(begin, end), kBufferBytes)) {}

    /// `known`: what was read of it before, from its front.
    TextCursor(const TextSource& source, std::uint64_t begin, std::uint64_t end,
               std::string_view known)
        : TextCursor(source, begin, end) {
        held_ = std::min(known.size(), buffer_.size());
        std::copy_n(known.begin(), held_, buffer_.begin());
        next_read_ += held_;
    }

    /// The first failure to read, if there was one.
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }
    /// Offset in the text of what comes next.
    [[nodiscard]] std::uint64_t position() const { return next_read_ - (held_ - next_); }
    [[nodiscard]] bool at_end() { return look(1).empty(); }

    /// What comes next: at least `bytes` of it (kBufferBytes at most), or all up to the end.
    std::string_view look(std::size_t bytes) {
        if (held_ - next_ < bytes) {
            fill();
        }
        return {buffer_.data() + next_, held_ - next_};
    }
    /// Skips bytes that were looked at.
    void skip(std::size_t bytes) { next_ += std::min(bytes, held_ - next_); }

    /// The next byte; 0 at the end.
    char peek() {
        const auto ahead = look(1);
        return ahead.empty() ? '\0' : ahead.front();
    }
    /// Passes over a byte if it is that one.
    bool take(char wanted) {
        if (peek() != wanted || at_end()) {
            return false;
        }
        skip(1);
        return true;
    }
    /// A number of at most 64 bits; nothing where there is none.
    std::optional<std::uint64_t> take_hex();
    std::optional<std::uint64_t> take_decimal();
    /// What stands before the line's end, at most `most` bytes of it; passes over the whole line.
    std::string take_line(std::size_t most);
    void skip_line();
    void skip_to_line_end();
    /// Whether nothing but a line's end (or the text's) follows; passes over it.
    bool take_line_end();
    /// Whether a line's end, or that of the text, is next.
    bool is_line_end();

  private:
    static constexpr std::size_t kBufferBytes = 256U << 10U;
    void fill();

    const TextSource& source_;
    std::uint64_t next_read_;
    std::uint64_t end_;
    std::vector<char> buffer_;
    std::size_t next_ = 0;
    std::size_t held_ = 0;
    std::optional<Error> error_;
};

/// Reads many small sections that stand together with few calls.
class TextWindow {
  public:
    explicit TextWindow(const TextSource& source) : source_(source) {}

    /// What there is of the text from `begin` on, up to `end` at most; nothing where it cannot be
    /// read. Until the next call.
    std::string_view look(std::uint64_t begin, std::uint64_t end);

  private:
    static constexpr std::size_t kBytes = 128U << 10U;
    const TextSource& source_;
    std::uint64_t begin_ = 0;
    std::vector<char> held_;
};

}  // namespace beamdump::crash
