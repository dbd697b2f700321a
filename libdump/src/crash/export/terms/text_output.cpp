#include "crash/export/terms/text_output.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace beamdump::crash {

namespace {

template <typename Number>
void put_decimal(TextOutput& text, Number value) {
    std::array<char, 24> digits{};
    const auto done = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text.put(std::string_view(digits.data(), done.ptr));
}

}  // namespace

TextOutput::TextOutput(ByteSink& sink) : sink_(sink), buffer_(kBytes) {}

void TextOutput::put(std::string_view text) {
    while (!text.empty()) {
        if (used_ == kBytes) {
            flush();
        }
        const std::size_t count = std::min(text.size(), kBytes - used_);
        std::memcpy(buffer_.data() + used_, text.data(), count);
        used_ += count;
        text.remove_prefix(count);
    }
}

void TextOutput::hex(std::uint64_t value) {
    std::array<char, 16> digits{};
    std::size_t first = digits.size();
    do {
        digits[--first] = "0123456789ABCDEF"[value & 15U];
        value >>= 4U;
    } while (value != 0);
    put(std::string_view(digits.data() + first, digits.size() - first));
}

void TextOutput::number(std::uint64_t value) {
    put_decimal(*this, value);
}

void TextOutput::signed_number(std::int64_t value) {
    put_decimal(*this, value);
}

void TextOutput::flush() {
    if (!error_ && used_ > 0) {
        if (auto done = sink_.write(std::as_bytes(std::span(buffer_).first(used_))); !done) {
            error_ = std::move(done.error());
        }
    }
    passed_on_ += used_;
    used_ = 0;
}

void Base64::add(std::span<const std::uint8_t> bytes) {
    for (const std::uint8_t byte : bytes) {
        held_[count_++] = byte;
        if (count_ == held_.size()) {
            group(count_);
        }
    }
}

void Base64::finish() {
    if (count_ > 0) {
        std::fill(held_.begin() + static_cast<std::ptrdiff_t>(count_), held_.end(), 0);
        group(count_);
    }
}

/// Four characters for three bytes; what fewer bytes do not fill is '='.
void Base64::group(std::size_t bytes) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned bits =
        static_cast<unsigned>(held_[0]) << 16U | static_cast<unsigned>(held_[1]) << 8U | held_[2];
    for (std::size_t i = 0; i < 4; ++i) {
        out_.put(i <= bytes ? kDigits[(bits >> (18 - 6 * i)) & 63U] : '=');
    }
    count_ = 0;
}

}  // namespace beamdump::crash
