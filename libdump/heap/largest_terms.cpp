#include <libdump/heap/largest_terms.h>

#include <algorithm>
#include <iterator>

namespace beamdump {

namespace {

bool larger(const LargeTerm& a, const LargeTerm& b) {
    return a.words > b.words;
}

}  // namespace

void LargestTerms::offer(std::uint64_t root, std::uint64_t word, std::uint64_t words,
                         std::span<const WalkLevel> path) {
    if (count_ == 0 || (terms_.size() == count_ && terms_.front().words >= words)) {
        return;
    }
    if (terms_.size() == count_) {
        std::ranges::pop_heap(terms_, larger);
        terms_.pop_back();
    }
    LargeTerm term{root, word, words, {}};
    for (const WalkLevel& level : path.last(std::min(path.size(), kLongestPath))) {
        term.path.push_back({level.kind, level.address, level.index});
    }
    terms_.push_back(std::move(term));
    std::ranges::push_heap(terms_, larger);
}

std::vector<LargeTerm> LargestTerms::of_root(std::uint64_t root) const {
    std::vector<LargeTerm> terms;
    std::ranges::copy_if(terms_, std::back_inserter(terms),
                         [root](const LargeTerm& term) { return term.root == root; });
    return terms;
}

std::vector<LargeTerm> LargestTerms::sorted() const {
    auto terms = terms_;
    std::ranges::stable_sort(terms, larger);
    return terms;
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
