#include <libdump/base/terminal_text.h>
#include <libdump/base/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace beamdump {

namespace {

constexpr char32_t kDelete = 0x7F;

struct CharacterRange {
    char32_t first;
    char32_t last;
};
/// Beyond ASCII: C1, the marks and overrides of direction, line and paragraph separator.
constexpr std::array<CharacterRange, 5> kTerminalControls = {
    {{0x80, 0x9F}, {0x61C, 0x61C}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}}};

bool is_plain(char c) {
    return c >= ' ' && c < static_cast<char>(kDelete);
}

bool is_kept_space(char c) {
    return c == '\n' || c == '\t';
}

/// Appends the first character or byte of `text`, escaped if necessary; returns its length.
std::size_t append_shown(std::string_view text, std::string& out) {
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (length == 0) {
        out += fmt::format("\\x{:02X}", first);
        return 1;
    }
    const char32_t character = utf8_character(text.substr(0, length));
    if (!is_terminal_control(character)) {
        out += text.substr(0, length);
    } else if (length == 1) {
        out += fmt::format("\\x{:02X}", first);
    } else {
        out += fmt::format("\\u{:04X}", static_cast<std::uint32_t>(character));
    }
    return length;
}

}  // namespace

bool is_terminal_control(char32_t character) {
    return character < ' ' || character == kDelete ||
           std::ranges::any_of(
               kTerminalControls,
               [character](const CharacterRange& range) {
                   return character >= range.first && character <= range.last;
               });
}

std::string one_line(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        text.remove_prefix(append_shown(text, result));
    }
    return result;
}

void TerminalText::add(std::string_view piece, std::string& out) {
    std::string joined;
    piece = after_rest(rest_, piece, joined);
    while (!piece.empty()) {
        const auto plain = static_cast<std::size_t>(
            std::ranges::find_if_not(piece,
                                     [](char c) { return is_plain(c) || is_kept_space(c); }) -
            piece.begin());
        out.append(piece.substr(0, plain));
        piece.remove_prefix(plain);
        if (piece.empty()) {
            return;
        }
        if (may_become_utf8(piece)) {
            rest_ = piece;
            return;
        }
        piece.remove_prefix(append_shown(piece, out));
    }
}

void TerminalText::end(std::string& out) {
    out += one_line(rest_);
    rest_.clear();
}

}  // namespace beamdump
