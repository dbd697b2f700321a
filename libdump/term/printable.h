#pragma once

#include <cstdint>

namespace beamdump {

/// The Latin-1 characters that a list must be made of to print as a string: no control characters
/// but space, tab, newline and carriage return (erl_printf_term.c, IS_CNTRL, IS_SPACE).
constexpr bool is_string_character(std::uint64_t c) {
    if (c == '\n' || c == '\t' || c == '\r') {
        return true;
    }
    return c >= ' ' && c != 127 && (c < 128 || c >= 160);
}

/// The characters that a list must be made of to print as a charlist in Elixir
/// (List.ascii_printable?/1).
constexpr bool is_charlist_character(std::uint64_t c) {
    return (c >= 7 && c <= 13) || c == 27 || (c >= ' ' && c <= 126);
}

/// The bytes that a binary must be made of to print as a string.
constexpr bool is_printable_byte(std::uint8_t byte) {
    return byte >= ' ' && byte < 127;
}

}  // namespace beamdump
