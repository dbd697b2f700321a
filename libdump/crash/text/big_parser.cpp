#include <libdump/crash/text/big_parser.h>

#include <algorithm>
#include <string>

namespace beamdump::crash {
namespace {

constexpr std::size_t kMaxDigits = 100'000;

unsigned digit_of(char digit) {
    if (digit >= '0' && digit <= '9') {
        return static_cast<unsigned>(digit - '0');
    }
    constexpr unsigned kTen = 10;
    if (digit >= 'A' && digit <= 'F') {
        return static_cast<unsigned>(digit - 'A') + kTen;
    }
    if (digit >= 'a' && digit <= 'f') {
        return static_cast<unsigned>(digit - 'a') + kTen;
    }
    return ~0U;
}

std::string take_digits(TextCursor& text, unsigned base) {
    std::string digits;
    while (digits.size() <= kMaxDigits && digit_of(text.peek()) < base) {
        digits += text.peek();
        text.skip(1);
    }
    return digits;
}

}  // namespace

std::optional<BigNumber> take_big(TextCursor& text) {
    constexpr unsigned kDecimal = 10;
    constexpr unsigned kHexadecimal = 16;
    BigNumber big;
    big.negative = text.take('-');
    unsigned base = kDecimal;
    if (text.look(3).starts_with("16#")) {
        base = kHexadecimal;
        text.skip(3);
    }
    const auto digits = take_digits(text, base);
    if (digits.empty() || digits.size() > kMaxDigits) {
        return std::nullopt;
    }
    for (const char digit : digits) {
        std::uint64_t carry = digit_of(digit);
        for (auto& word : big.words) {
            // In halves, so that no product has more than 64 bits.
            constexpr unsigned kHalf = 32;
            constexpr std::uint64_t kLow = 0xFFFF'FFFF;
            const std::uint64_t low = (word & kLow) * base + carry;
            const std::uint64_t high = (word >> kHalf) * base + (low >> kHalf);
            word = high << kHalf | (low & kLow);
            carry = high >> kHalf;
        }
        if (carry != 0 || big.words.empty()) {
            big.words.push_back(carry);
        }
    }
    return big;
}

}  // namespace beamdump::crash
