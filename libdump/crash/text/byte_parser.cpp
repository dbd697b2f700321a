#include <libdump/crash/text/byte_parser.h>

#include <array>

namespace beamdump::crash {
namespace {

constexpr std::uint8_t kNotHex = 0xFF;

constexpr std::array<std::uint8_t, 256> digits(std::string_view alphabet) {
    std::array<std::uint8_t, 256> values{};
    values.fill(kNotHex);
    for (std::size_t value = 0; value < alphabet.size(); ++value) {
        values[static_cast<unsigned char>(alphabet[value])] = static_cast<std::uint8_t>(value);
    }
    return values;
}

constexpr auto kBase64 = digits("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
constexpr auto kUpperHex = digits("0123456789ABCDEF");
constexpr auto kLowerHex = digits("0123456789abcdef");

std::uint8_t hex_digit(char digit) {
    const auto place = static_cast<unsigned char>(digit);
    return kUpperHex[place] != kNotHex ? kUpperHex[place] : kLowerHex[place];
}

}  // namespace

/// Decodes a group: four characters of base64 (the last of them may be `=`), or two digits.
bool ByteParser::next_group() {
    constexpr std::size_t kBase64Group = group(true).characters;
    constexpr std::size_t kHexGroup = group(false).characters;
    const auto ahead = text_.look(kBase64Group);
    group_ = 0;
    if (!base64_) {
        if (ahead.size() < kHexGroup || hex_digit(ahead[0]) == kNotHex ||
            hex_digit(ahead[1]) == kNotHex) {
            return false;
        }
        group_ = static_cast<std::uint32_t>(hex_digit(ahead[0]) << 4U | hex_digit(ahead[1])) << 24U;
        group_bytes_ = 1;
        text_.skip(kHexGroup);
        return true;
    }
    if (ahead.size() < kBase64Group) {
        return false;
    }
    unsigned characters = 0;
    while (characters < kBase64Group) {
        const auto value = kBase64[static_cast<unsigned char>(ahead[characters])];
        if (value == kNotHex) {
            break;
        }
        group_ |= static_cast<std::uint32_t>(value) << (26U - 6U * characters);
        ++characters;
    }
    for (auto place = characters; place < kBase64Group; ++place) {
        if (ahead[place] != '=') {
            return false;
        }
    }
    if (characters < 2) {
        return false;
    }
    group_bytes_ = characters - 1;
    text_.skip(kBase64Group);
    return true;
}

std::size_t ByteParser::read(std::span<std::uint8_t> into) {
    std::size_t done = 0;
    while (done < into.size()) {
        if (group_bytes_ == 0 && !next_group()) {
            break;
        }
        into[done++] = static_cast<std::uint8_t>(group_ >> 24U);
        group_ <<= 8U;
        --group_bytes_;
    }
    return done;
}

}  // namespace beamdump::crash
