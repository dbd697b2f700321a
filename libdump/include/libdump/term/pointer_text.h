#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace beamdump {

/// As the VM prints pointers: 0x and 16 digits.
constexpr std::array<char, 18> pointer_text(std::uint64_t address) {
    std::array<char, 18> text{'0', 'x'};
    for (std::size_t i = 0; i < 16; ++i) {
        text[17 - i] = "0123456789abcdef"[(address >> (4 * i)) & 15U];
    }
    return text;
}

}  // namespace beamdump
