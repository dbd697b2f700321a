#include <libdump/term/big_integer.h>

#include <fmt/format.h>

#include <vector>

namespace beamdump {

namespace {

/// The largest power of ten in a word, and its digits.
constexpr std::uint64_t kChunk = 10'000'000'000'000'000'000U;

__extension__ using Wide = unsigned __int128;

/// Divides in place by kChunk; gives the remainder and drops leading zero words.
std::uint64_t divide_by_chunk(std::vector<std::uint64_t>& words) {
    std::uint64_t remainder = 0;
    for (std::size_t i = words.size(); i-- > 0;) {
        const Wide value = (static_cast<Wide>(remainder) << 64U) | words[i];
        words[i] = static_cast<std::uint64_t>(value / kChunk);
        remainder = static_cast<std::uint64_t>(value % kChunk);
    }
    while (!words.empty() && words.back() == 0) {
        words.pop_back();
    }
    return remainder;
}

}  // namespace

std::string decimal(std::span<const std::uint64_t> magnitude, bool negative) {
    std::vector<std::uint64_t> words(magnitude.begin(), magnitude.end());
    while (!words.empty() && words.back() == 0) {
        words.pop_back();
    }
    if (words.empty()) {
        return "0";
    }
    std::vector<std::uint64_t> chunks;  // lowest first
    chunks.reserve(words.size() + words.size() / 64 + 1);
    while (!words.empty()) {
        chunks.push_back(divide_by_chunk(words));
    }
    std::string text = fmt::format("{}{}", negative ? "-" : "", chunks.back());
    text.reserve(text.size() + 19 * chunks.size());
    for (std::size_t i = chunks.size() - 1; i-- > 0;) {
        fmt::format_to(std::back_inserter(text), "{:019}", chunks[i]);
    }
    return text;
}

}  // namespace beamdump
