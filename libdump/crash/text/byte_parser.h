#pragma once

#include <libdump/crash/text/text_cursor.h>

#include <cstdint>
#include <span>

namespace beamdump::crash {

/// Bytes as text: base64 from version 0.5 of the format on, else two hexadecimal digits each
/// (erl_process_dump.c, erts_print_base64).
class ByteParser {
  public:
    /// A group of characters, and the bytes that it stands for.
    struct Group {
        std::size_t bytes = 0;
        std::size_t characters = 0;
    };
    static constexpr Group group(bool base64) { return base64 ? Group{3, 4} : Group{1, 2}; }

    ByteParser(TextCursor& text, bool base64) : text_(text), base64_(base64) {}

    /// The next bytes; gives how many there were, fewer than asked for where something else stands
    /// in the text.
    std::size_t read(std::span<std::uint8_t> into);

  private:
    bool next_group();

    TextCursor& text_;
    bool base64_;
    std::uint32_t group_ = 0;  // bytes that were decoded and not given yet, the next one highest
    unsigned group_bytes_ = 0;
};

}  // namespace beamdump::crash
