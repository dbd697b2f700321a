#include <libdump/heap/largest_terms.h>

#include <algorithm>
#include <iterator>

namespace beamdump {

namespace {

bool larger(const LargeTerm& a, const LargeTerm& b) {
    return a.words > b.words;
}

}  // namespace

LargestTerms::LargestTerms(std::size_t count) : count_(count), terms_(count, larger) {}

void LargestTerms::offer(std::uint64_t root, std::uint64_t word, std::uint64_t words,
                         std::span<const WalkLevel> path) {
    LargeTerm term{root, word, words, {}};
    if (count_ == 0 || !terms_.wants(term)) {
        return;
    }
    for (const WalkLevel& level : path.last(std::min(path.size(), kLongestPath))) {
        term.path.push_back({level.kind, level.address, level.index});
    }
    terms_.add(std::move(term));
}

std::vector<LargeTerm> LargestTerms::of_root(std::uint64_t root) const {
    std::vector<LargeTerm> terms;
    std::ranges::copy_if(terms_.items(), std::back_inserter(terms),
                         [root](const LargeTerm& term) { return term.root == root; });
    return terms;
}

std::vector<LargeTerm> LargestTerms::sorted() const {
    return FirstItems(terms_).take();
}

std::uint64_t word_to(const TagScheme& scheme, std::uint64_t address, bool is_cell) {
    const auto kind = is_cell ? WordKind::kList : WordKind::kBoxed;
    const auto* at = std::ranges::find(scheme.by_primary, kind);
    return address | static_cast<std::uint64_t>(at - scheme.by_primary.begin());
}

std::uint64_t word_to(const TagScheme& scheme, const WalkLevel& level) {
    return word_to(scheme, level.address,
                   level.kind == WalkLevel::Kind::kList || level.kind == WalkLevel::Kind::kPair);
}

}  // namespace beamdump
