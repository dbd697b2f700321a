#pragma once

#include <libdump/crash/text/text_cursor.h>

#include <optional>
#include <vector>

namespace beamdump::crash {

struct BigNumber {
    bool negative = false;
    std::vector<std::uint64_t> words;  ///< magnitude, lowest first; at least one
};

/// A large integer, as %T prints it: in decimal, or as `16#` and hexadecimal digits. Nothing where
/// there is none, or one of more than 100,000 digits.
std::optional<BigNumber> take_big(TextCursor& text);

}  // namespace beamdump::crash
