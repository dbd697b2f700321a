#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace beamdump {

/// Bytes in base 64 (RFC 4648), taken in pieces of any size, to an output that has put(char).
template <typename Out>
class Base64 {
  public:
    /// Non-owning.
    explicit Base64(Out& out) : out_(out) {}

    void add(std::span<const std::uint8_t> bytes) {
        for (const std::uint8_t byte : bytes) {
            held_[count_++] = byte;
            if (count_ == held_.size()) {
                group();
            }
        }
    }
    /// Fills up the last group.
    void finish() {
        if (count_ > 0) {
            std::fill(held_.begin() + static_cast<std::ptrdiff_t>(count_), held_.end(), 0);
            group();
        }
    }

  private:
    /// Four characters for three bytes; what fewer bytes do not fill is '='.
    void group() {
        constexpr std::string_view kDigits =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const unsigned bits = static_cast<unsigned>(held_[0]) << 16U |
                              static_cast<unsigned>(held_[1]) << 8U | held_[2];
        for (std::size_t i = 0; i < 4; ++i) {
            out_.put(i <= count_ ? kDigits[(bits >> (18 - 6 * i)) & 63U] : '=');
        }
        count_ = 0;
    }

    Out& out_;
    std::array<std::uint8_t, 3> held_{};
    std::size_t count_ = 0;
};

}  // namespace beamdump
