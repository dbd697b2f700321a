#include "query/heap/root_groups.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace beamdump::query {

RootGroups::RootGroups(std::uint64_t limit) : limit_(limit) {
    for (const RootKind kind : {RootKind::kStack, RootKind::kArgument, RootKind::kDictionary,
                                RootKind::kOther, RootKind::kMessage}) {
        groups_.push_back({kind, 0, 0, {}});
    }
}

RootGroup& RootGroups::group(RootKind kind) {
    return *std::ranges::find(groups_, kind, &RootGroup::kind);
}

bool RootGroups::count(RootKind kind, std::uint64_t shared_words) {
    RootGroup& of_kind = group(kind);
    ++of_kind.total;
    of_kind.shared_words += shared_words;
    const auto least = least_.find(kind);
    return limit_ == 0 || of_kind.lines.size() < limit_ ||
           shared_words > (least == least_.end() ? 0 : least->second);
}

void RootGroups::add(RootLine line) {
    RootGroup& of_kind = group(line.kind);
    of_kind.lines.push_back(std::move(line));
    if (limit_ != 0 && of_kind.lines.size() >= 2 * limit_) {
        keep_largest(of_kind);
    }
    if (of_kind.lines.size() == limit_) {
        least_[of_kind.kind] =
            std::ranges::min_element(of_kind.lines, {}, &RootLine::shared_words)->shared_words;
    }
}

void RootGroups::keep_largest(RootGroup& group) const {
    if (limit_ != 0) {
        std::ranges::stable_sort(group.lines, std::ranges::greater(), &RootLine::shared_words);
        group.lines.resize(std::min<std::size_t>(group.lines.size(), limit_));
    }
}

std::vector<RootGroup> RootGroups::take() {
    std::ranges::for_each(groups_, [this](RootGroup& group) { keep_largest(group); });
    return std::move(groups_);
}

}  // namespace beamdump::query
