#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace beamdump {

/// The number that all of `text` is, in hexadecimal digits without a prefix; nothing for any other
/// text, or one over 64 bits.
inline std::optional<std::uint64_t> hexadecimal_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                    : std::nullopt;
}

}  // namespace beamdump
