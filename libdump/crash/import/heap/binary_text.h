#pragma once

#include <libdump/crash/text/crash_dump.h>
#include <libdump/crash/text/text_cursor.h>

#include <cstdint>
#include <optional>

namespace beamdump::crash {

/// A =binary section: its size and the characters of its bytes (erl_process_dump.c,
/// dump_binaries()).
struct BinaryText {
    std::uint64_t size_bytes = 0;
    Span characters;
};

/// Reads `SIZE:`, in hexadecimal; nothing where something else stands.
std::optional<std::uint64_t> take_binary_size(TextCursor& text);

/// Reads the section's head only; nothing where it is malformed.
Result<std::optional<BinaryText>> find_binary_text(const TextSource& source, const Span& lines);

/// How many of the Binary's bytes the text has: those before the first character that is none of
/// them. Reads all of the characters.
Result<std::uint64_t> bytes_in_text(const TextSource& source, const BinaryText& binary,
                                    bool base64);

}  // namespace beamdump::crash
