#include <libdump/crash/export/terms/text_output.h>

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

}  // namespace beamdump::crash
