#pragma once

#include "support/fake_term_context.h"

#include <cstdint>
#include <random>
#include <vector>

namespace beamdump::testing {

/// A few leaves and `objects` objects after them, each of which may refer to any earlier one. The
/// third is a binary on the heap; with `sub_binaries` some of the objects are parts of it.
inline std::vector<std::uint64_t> random_terms(TermBuilder& b, std::mt19937& random, int objects,
                                               bool sub_binaries) {
    std::vector<std::uint64_t> words = {TermBuilder::nil(), TermBuilder::small(5),
                                        b.heap_binary("some bytes"), b.tuple({})};
    const auto any = [&] { return words[random() % words.size()]; };
    for (int i = 0; i < objects; ++i) {
        switch (random() % 3) {
            case 0:
                words.push_back(b.cons(any(), any()));
                break;
            case 1:
                words.push_back(b.tuple({any(), any()}));
                break;
            default:
                words.push_back(sub_binaries ? b.sub_binary(words[2], 0, 1) : b.tuple({any()}));
                break;
        }
    }
    return words;
}

}  // namespace beamdump::testing
