#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace beamdump::test {

/// Contents of an entry of the JIT's list, as beam_jit_metadata.cpp (OTP 25 to 29) and
/// jit/x86/beam_asm.cpp (OTP 24) make them.
class JitContents {
  public:
    template <typename T>
    JitContents& put(T value) {
        const auto at = bytes_.size();
        bytes_.resize(at + sizeof value);
        std::memcpy(bytes_.data() + at, &value, sizeof value);
        return *this;
    }
    /// A length of 16 bits and so many bytes, behind `padding` of the structure that they follow.
    JitContents& name(std::string_view text, std::size_t padding) {
        put(static_cast<std::uint16_t>(text.size() + 1));
        for (const char letter : text) {
            put(letter);
        }
        put('\0');
        bytes_.resize(bytes_.size() + padding);
        return *this;
    }
    /// Its bytes and a 0, as OTP 24 has names.
    JitContents& text(std::string_view text) {
        for (const char letter : text) {
            put(letter);
        }
        return put('\0');
    }
    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

}  // namespace beamdump::test
