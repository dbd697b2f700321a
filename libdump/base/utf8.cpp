#include <libdump/base/utf8.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace beamdump {

namespace {

std::size_t announced_length(unsigned char first) {
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xC2 && first < 0xE0) {
        return 2;
    }
    if (first >= 0xE0 && first < 0xF0) {
        return 3;
    }
    return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

bool is_tail(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Second bytes that would make an overlong form, a surrogate or a value above U+10FFFF.
bool bad_second(unsigned char first, unsigned char second) {
    return (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
           (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
    if (text.empty()) {
        return 0;
    }
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = announced_length(first);
    if (length == 0 || text.size() < length ||
        !std::ranges::all_of(text.substr(1, length - 1), is_tail)) {
        return 0;
    }
    return length > 1 && bad_second(first, static_cast<unsigned char>(text[1])) ? 0 : length;
}

char32_t utf8_character(std::string_view text) {
    constexpr std::array<unsigned char, 5> kBitsOfFirst = {0, 0x7F, 0x1F, 0x0F, 0x07};
    char32_t character = static_cast<unsigned char>(text.front()) & kBitsOfFirst.at(text.size());
    for (const char c : text.substr(1)) {
        character = character << 6U | (static_cast<unsigned char>(c) & 0x3FU);
    }
    return character;
}

void append_utf8(std::string& text, char32_t character) {
    const auto tail = [&text, character](unsigned shift) {
        text += static_cast<char>(0x80U | ((character >> shift) & 0x3FU));
    };
    if (character < 0x80) {
        text += static_cast<char>(character);
    } else if (character < 0x800) {
        text += static_cast<char>(0xC0U | (character >> 6U));
        tail(0);
    } else if (character < 0x10000) {
        text += static_cast<char>(0xE0U | (character >> 12U));
        tail(6);
        tail(0);
    } else {
        text += static_cast<char>(0xF0U | (character >> 18U));
        tail(12);
        tail(6);
        tail(0);
    }
}

bool may_become_utf8(std::string_view text) {
    const std::size_t length = announced_length(static_cast<unsigned char>(text.front()));
    return text.size() < length && std::ranges::all_of(text.substr(1), is_tail);
}

std::string_view after_rest(std::string& rest, std::string_view piece, std::string& joined) {
    if (rest.empty()) {
        return piece;
    }
    joined = std::exchange(rest, {}).append(piece);
    return joined;
}

std::string valid_utf8(std::string_view text) {
    std::string out;
    Utf8Pieces pieces;
    pieces.add(text, out);
    pieces.end(out);
    return out;
}

void Utf8Pieces::add(std::string_view piece, std::string& out) {
    std::string joined;
    piece = after_rest(rest_, piece, joined);
    while (!piece.empty()) {
        // Fast path for ASCII.
        const auto beyond = static_cast<std::size_t>(
            std::ranges::find_if(piece,
                                 [](char c) { return static_cast<unsigned char>(c) >= 0x80; }) -
            piece.begin());
        out.append(piece.substr(0, beyond));
        piece.remove_prefix(beyond);
        if (piece.empty()) {
            return;
        }
        if (const std::size_t length = utf8_length(piece)) {
            out.append(piece.substr(0, length));
            piece.remove_prefix(length);
        } else if (may_become_utf8(piece)) {
            rest_ = piece;
            return;
        } else {
            append_utf8(out, static_cast<unsigned char>(piece.front()));
            piece.remove_prefix(1);
        }
    }
}

void Utf8Pieces::end(std::string& out) {
    for (const char byte : rest_) {
        append_utf8(out, static_cast<unsigned char>(byte));
    }
    rest_.clear();
}

}  // namespace beamdump
