// Redacts random words and random policies: must end; words in pieces come out as in one, and a
// second pass changes nothing.
//
// Input: a byte whose bits say the layout, the term scheme (the fourth: OTP 25's, and each third
// word is kept), the level and the size of the pieces; then the words of a region. Words whose top
// byte is 0xFF are turned into pointers to memory that the node has. 0xFF as the first byte: the
// rest is the text of a policy.

#include <libdump/redact/policy.h>
#include <libdump/redact/word_pass.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

namespace {

using namespace beamdump;
using namespace beamdump::redact;

constexpr std::uint64_t kMemory = 0x7F12'3400'0000;
constexpr std::array kLayouts = {WordLayout::kObjects, WordLayout::kTerms, WordLayout::kStack,
                                 WordLayout::kRow};
constexpr std::array kSchemes = {format::TermScheme::kOtp25, format::TermScheme::kOtp27,
                                 format::TermScheme::kOtp29, format::TermScheme::kOtp25};

void must(bool holds) {
    if (!holds) {
        std::abort();
    }
}

struct Choice {
    WordLayout layout;
    format::TermScheme scheme;
    Level level;
    const KeptTerms* kept;
};

/// Each third word as a whole, the ones after them to their third byte.
KeptTerms some_of(std::span<const std::uint64_t> words) {
    constexpr std::uint64_t kBytes = 3;
    KeptTerms kept;
    for (std::size_t at = 0; at < words.size(); ++at) {
        if (at % 3 != 2) {
            kept.keep_word(kMemory + at * 8,
                           at % 3 == 0 ? words[at] : first_bytes(words[at], kBytes));
        }
    }
    kept.seal();
    return kept;
}

void pass(const Choice& choice, std::vector<std::uint64_t>& words, std::size_t piece) {
    AddressRanges ranges;
    ranges.add(kMemory, kMemory + 1);
    WordPass pass(*scheme_of(choice.scheme), choice.level, ranges, choice.kept);
    pass.start(choice.layout, words.size());
    pass.at(kMemory);
    const auto bytes = std::as_writable_bytes(std::span(words));
    for (std::size_t at = 0; at < bytes.size(); at += piece * 8) {
        pass.run(bytes.subspan(at, std::min(piece * 8, bytes.size() - at)));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const unsigned what = data[0];
    if (what == 0xFFU) {
        const auto policy = parse_policy({reinterpret_cast<const char*>(data + 1), size - 1});
        must(policy || policy.error().code == ErrorCode::kUsage);
        return 0;
    }
    std::vector<std::uint64_t> words((size - 1) / 8);
    if (words.empty()) {
        return 0;
    }
    std::memcpy(words.data(), data + 1, words.size() * 8);
    for (auto& word : words) {
        if (word >> 56U == 0xFFU) {
            word = kMemory + (word & 0xFFF8U) + (word & 3U);
        }
    }
    const auto scheme = what >> 2U & 3U;
    const KeptTerms kept = scheme == 3U ? some_of(words) : KeptTerms();
    const Choice choice{kLayouts.at(what & 3U), kSchemes.at(scheme),
                        (what & 16U) != 0 ? Level::kText : Level::kStructure, &kept};
    auto in_pieces = words;
    pass(choice, words, words.size());
    pass(choice, in_pieces, 1 + (what >> 5U));
    must(words == in_pieces);
    pass(choice, words, words.size());
    must(words == in_pieces);
    return 0;
}
