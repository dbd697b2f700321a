// Follows a random path through random words: must end, whatever they say, and a path that leads
// somewhere must lead to the same word by the steps that it is shown with.
//
// Input: a byte with the path's length, the path, 8 bytes of which the two highest bits are the
// term scheme and the next the syntax, then the words of one region at kRegion. Words whose top
// byte is 0xFF are turned into pointers into the region, so that structure comes up by chance.

#include "query/term/path_finder.h"
#include "support/fake_term_context.h"

#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace beamdump;
using namespace beamdump::testing;

constexpr std::uint64_t kRegion = TermBuilder::kHeap;
constexpr std::array kSchemes = {format::TermScheme::kOtp25, format::TermScheme::kOtp29,
                                 format::TermScheme::kOtp27, format::TermScheme::kOtp29};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::size_t length = size == 0 ? 0 : data[0];
    if (size < 1 + length + 24) {
        return 0;
    }
    const std::string path(reinterpret_cast<const char*>(data) + 1, length);
    data += 1 + length;
    size -= 1 + length;
    std::uint64_t control = 0;
    std::memcpy(&control, data, 8);
    std::vector<std::uint64_t> words((size - 8) / 8);
    std::memcpy(words.data(), data + 8, words.size() * 8);
    for (auto& word : words) {
        if (word >> 56U == 0xFFU) {
            word = kRegion + (word >> 2U & 0xFFFU) % words.size() * 8 + (word & 3U);
        }
    }
    FakeTermContext context;
    for (const auto* const name : {"atom", "an atom", "users", "Elixir.Shop"}) {
        context.intern(name);
    }
    context.add_region(kRegion, words);
    TagScheme scheme = *scheme_of(kSchemes.at(control >> 62U));
    scheme.style.syntax = (control >> 61U) % 2 != 0 ? TermSyntax::kElixir : TermSyntax::kErlang;
    query::PathFinder finder(context, scheme);
    const auto found = finder.follow(words[0], "root", path);
    if (!found) {
        return found.error().message.empty() ? std::abort(), 0 : 0;
    }
    std::string shown;
    for (const auto& step : found->steps) {
        shown += " -> " + step;
    }
    // Several keys of a torn map may read the same, which a position in the path need not.
    const auto again = finder.follow(words[0], "root", shown);
    if (again && again->word != found->word) {
        std::abort();
    }
    return 0;
}
