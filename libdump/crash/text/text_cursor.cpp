#include <libdump/crash/text/text_cursor.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace beamdump::crash {
namespace {

constexpr std::uint8_t kNoDigit = 0xFF;

// A table, for a branch between digits and letters would be guessed wrong every third time.
constexpr auto kHexDigits = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(kNoDigit);
    for (const std::string_view digits : {"0123456789ABCDEF", "0123456789abcdef"}) {
        for (std::size_t value = 0; value < digits.size(); ++value) {
            values[static_cast<unsigned char>(digits[value])] = static_cast<std::uint8_t>(value);
        }
    }
    return values;
}();

}  // namespace

void TextCursor::fill() {
    if (held_ > next_) {
        std::memmove(buffer_.data(), buffer_.data() + next_, held_ - next_);
    }
    held_ -= next_;
    next_ = 0;
    if (error_ || next_read_ >= end_) {
        return;
    }
    const auto room = std::span(buffer_).subspan(held_);
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), end_ - next_read_));
    auto got = source_.read(next_read_, room.first(wanted));
    if (!got) {
        error_ = std::move(got.error());
        return;
    }
    if (*got == 0) {
        end_ = next_read_;
    }
    next_read_ += *got;
    held_ += *got;
}

std::string_view TextWindow::look(std::uint64_t begin, std::uint64_t end) {
    if (begin < begin_ || end > begin_ + held_.size()) {
        held_.resize(kBytes);
        const auto got = source_.read(begin, held_);
        held_.resize(got.value_or(0));
        begin_ = begin;
    }
    const std::string_view held(held_.data(), held_.size());
    return held.substr(begin - begin_, end - begin);
}

std::optional<std::uint64_t> TextCursor::take_hex() {
    constexpr std::size_t kMaxDigits = 16;
    const auto ahead = look(kMaxDigits + 1);
    std::uint64_t value = 0;
    std::size_t digits = 0;
    for (; digits < ahead.size(); ++digits) {
        const auto digit = kHexDigits[static_cast<unsigned char>(ahead[digits])];
        if (digit == kNoDigit) {
            break;
        }
        if (digits >= kMaxDigits) {
            return std::nullopt;
        }
        value = value << 4U | digit;
    }
    skip(digits);
    return digits == 0 ? std::nullopt : std::optional(value);
}

std::optional<std::uint64_t> TextCursor::take_decimal() {
    constexpr std::size_t kLongestNumber = 64;
    const auto ahead = look(kLongestNumber);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(ahead.data(), ahead.data() + ahead.size(), value);
    if (error != std::errc()) {
        return std::nullopt;
    }
    skip(static_cast<std::size_t>(end - ahead.data()));
    return value;
}

std::string TextCursor::take_line(std::size_t most) {
    std::string line;
    while (true) {
        const auto ahead = look(1);
        const auto end = ahead.find('\n');
        const auto part = ahead.substr(0, end);
        line += part.substr(0, most - std::min(most, line.size()));
        skip(part.size());
        if (end != std::string_view::npos) {
            skip(1);
            break;
        }
        if (ahead.empty()) {
            break;
        }
    }
    if (line.ends_with('\r')) {
        line.pop_back();
    }
    return line;
}

void TextCursor::skip_to_line_end() {
    while (true) {
        const auto ahead = look(1);
        const auto end = ahead.find_first_of("\r\n");
        if (end != std::string_view::npos || ahead.empty()) {
            skip(end == std::string_view::npos ? 0 : end);
            return;
        }
        skip(ahead.size());
    }
}

void TextCursor::skip_line() {
    while (true) {
        const auto ahead = look(1);
        const auto end = ahead.find('\n');
        if (end != std::string_view::npos) {
            skip(end + 1);
            return;
        }
        if (ahead.empty()) {
            return;
        }
        skip(ahead.size());
    }
}

bool TextCursor::is_line_end() {
    const auto ahead = look(2);
    const std::size_t returns = !ahead.empty() && ahead.front() == '\r' ? 1 : 0;
    return ahead.empty() || (ahead.size() > returns && ahead[returns] == '\n');
}

bool TextCursor::take_line_end() {
    const auto ahead = look(2);
    if (ahead.empty()) {
        return true;
    }
    const std::size_t returns = ahead.front() == '\r' ? 1 : 0;
    if (ahead.size() <= returns || ahead[returns] != '\n') {
        return false;
    }
    skip(returns + 1);
    return true;
}

}  // namespace beamdump::crash
