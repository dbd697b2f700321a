#pragma once

#include <libdump/format/crash_regions.h>
#include <libdump/term/term_scheme.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beamdump {

/// The address in the node of an object at an address in the dump.
constexpr std::uint64_t address_in_node(const TagScheme& scheme, std::uint64_t address) {
    return scheme.doubled_addresses && address < kMadeUpAddresses ? address / 2 : address;
}

/// 0x and digits.
class PointerText {
  public:
    constexpr PointerText(std::uint64_t address, std::size_t digits) : size_(2 + digits) {
        for (std::size_t i = 0; i < digits; ++i) {
            text_[size_ - 1 - i] = "0123456789abcdef"[(address >> (4 * i)) & 15U];
        }
    }
    [[nodiscard]] constexpr std::string_view view() const { return {text_.data(), size_}; }

  private:
    std::array<char, 18> text_{'0', 'x'};
    std::size_t size_;
};

/// As the VM prints pointers: 16 digits.
constexpr PointerText pointer_text(std::uint64_t address) {
    return {address, 16};
}

/// An address in the node, as its VM prints pointers: 8 digits of one with words of four bytes.
constexpr PointerText pointer_text(const TagScheme& scheme, std::uint64_t address) {
    return {address, scheme.doubled_addresses && address < kMadeUpAddresses ? 8U : 16U};
}

}  // namespace beamdump
