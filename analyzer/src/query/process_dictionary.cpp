#include "query/process_dictionary.h"

#include <algorithm>
#include <array>
#include <vector>

namespace beamdump::query {

namespace {

using Visit = std::function<void(std::uint64_t key, std::uint64_t value)>;

/// Whether `word` leads to a {Key, Value} tuple; if so, visits it.
bool visit_pair(ProcessContext& context, const TagScheme& scheme, std::uint64_t word,
                const Visit& visit) {
    std::array<std::uint64_t, 3> tuple{};
    if (word_kind(scheme, word) != WordKind::kBoxed) {
        return false;
    }
    const auto got = context.words(pointer_of(word), tuple);
    if (!got || *got != tuple.size() || boxed_kind(scheme, tuple[0]) != BoxedKind::kTuple ||
        header_arity(tuple[0]) != 2) {
        return false;
    }
    visit(tuple[1], tuple[2]);
    return true;
}

/// Visits the pairs of a hash bucket with several entries; gives how many words made none.
std::uint64_t visit_bucket(ProcessContext& context, const TagScheme& scheme, std::uint64_t word,
                           const Visit& visit) {
    // A list cannot have more cells than half its region's words; a longer one is a torn circle.
    std::uint64_t cells_left = context.region_bytes_bound() / sizeof(std::uint64_t) / 2;
    while (word != scheme.nil) {
        std::array<std::uint64_t, 2> cell{};
        if (word_kind(scheme, word) != WordKind::kList || cells_left-- == 0) {
            return 1;
        }
        const auto got = context.words(pointer_of(word), cell);
        if (!got || *got != cell.size() || !visit_pair(context, scheme, cell[0], visit)) {
            return 1;
        }
        word = cell[1];
    }
    return 0;
}

}  // namespace

Result<std::uint64_t> visit_dictionary(ProcessContext& context, const ProcessRun& run,
                                       const TagScheme& scheme, const Visit& visit) {
    constexpr std::uint64_t kSlotsAtOnce = 1024;
    std::uint64_t malformed = 0;
    const Region* region = run.region(format::RegionKind::kDictionary);
    if (region == nullptr) {
        return malformed;
    }
    std::vector<std::uint64_t> slots;
    for (std::uint64_t slot = 0; slot < region->here; slot += slots.size()) {
        slots.resize(std::min(kSlotsAtOnce, region->here - slot));
        auto got = context.words(region->address + slot * sizeof(std::uint64_t), slots);
        if (!got) {
            return std::unexpected(got.error());
        }
        slots.resize(*got);
        for (const std::uint64_t word : slots) {
            if (word == scheme.nil || word == scheme.non_value) {
                continue;
            }
            if (word_kind(scheme, word) == WordKind::kList) {
                malformed += visit_bucket(context, scheme, word, visit);
            } else if (!visit_pair(context, scheme, word, visit)) {
                ++malformed;
            }
        }
    }
    return malformed;
}

}  // namespace beamdump::query
