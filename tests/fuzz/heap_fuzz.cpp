// Measures, counts and scans random words as a process's heap: must end, whatever the words say,
// and what two ways of counting say must agree.
//
// Input: 8 bytes, of which the two highest bits are the term scheme, then the words of one region
// at kRegion. Words whose top byte is 0xFF are turned into pointers into the region, so that
// structure comes up by chance.

#include "support/fake_term_context.h"

#include <libdump/heap/heap_census.h>
#include <libdump/heap/heap_scan.h>
#include <libdump/heap/retained_sizes.h>
#include <libdump/heap/term_sizes.h>

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

void must(bool holds) {
    if (!holds) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 24) {
        return 0;
    }
    std::vector<std::uint64_t> words((size - 8) / 8);
    std::memcpy(words.data(), data + 8, words.size() * 8);
    for (auto& word : words) {
        if (word >> 56U == 0xFFU) {
            word = kRegion + (word >> 2U & 0xFFFU) % words.size() * 8 + (word & 3U);
        }
    }
    FakeTermContext context;
    context.add_region(kRegion, words);
    std::uint64_t control = 0;
    std::memcpy(&control, data, 8);
    const TagScheme scheme = *scheme_of(kSchemes.at(control >> 62U));
    WordReader reader(context);
    HeapCensus census(scheme, reader, [](std::uint64_t) { return HeapArea::kHeap; },
                      {.largest = 5});
    TermSizer sizer(scheme, reader);
    const std::size_t roots = std::min<std::size_t>(words.size(), 3);
    for (std::size_t i = 0; i < roots; ++i) {
        census.set_root(i);
        const auto sizes = sizer.sizes(words[i], &census);
        must(sizes.has_value());
        must(sizes->flat >= sizes->shared || sizes->unreadable > 0);
    }
    ScratchSpace space({});
    RetainedSizes retained(scheme, reader, space, [](std::uint64_t) { return false; },
                           {.largest = 5});
    const auto done = retained.run(
        [&](const auto& walk) -> Result<void> {
            for (std::size_t i = 0; i < roots; ++i) {
                must(walk(i, words[i]).has_value());
            }
            return {};
        },
        [](const LargeTerm&) {});
    must(done.has_value());
    // Objects may overlap in such words, but nothing retains more than everything that is live.
    for (const LargeTerm& term : retained.largest()) {
        must(term.words <= census.in(HeapArea::kHeap).words);
    }
    const HeapBlock block{kRegion, kRegion + words.size() * 8};
    TopLevelTerms terms(scheme, reader,
                        [&](std::uint64_t address) { return census.is_live(address); });
    must(terms.add(block).has_value());
    std::uint64_t stretches = 0;
    const auto visited = terms.visit(
        block, [](const TopLevelTerms::Term&) {},
        [&](const UnreadableStretch& stretch) { stretches += stretch.words; });
    must(visited.has_value());
    must(stretches <= words.size());
    return 0;
}
