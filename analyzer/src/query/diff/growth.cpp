#include "query/diff/growth.h"

#include "query/diff/section.h"

#include <algorithm>
#include <utility>

namespace beamdump::query {

namespace {

/// The sum over all things in the last dump that has the section.
std::optional<std::uint64_t> last_sum(const ThingTable& table, Measure measure) {
    for (std::size_t dump = table.dumps(); dump-- > 0;) {
        if (table.has(dump)) {
            return table.sum(measure, dump);
        }
    }
    return std::nullopt;
}

/// First and last known number of members.
std::pair<std::uint64_t, std::uint64_t> members_of(const ThingTable& table, std::size_t thing) {
    std::optional<std::uint64_t> first;
    std::uint64_t last = 0;
    for (std::size_t dump = 0; dump < table.dumps(); ++dump) {
        if (const auto members = table.value(thing, Measure::kMembers, dump)) {
            first = first ? first : members;
            last = *members;
        }
    }
    return {first.value_or(0), last};
}

}  // namespace

std::optional<GrowthList::Share> GrowthList::share_of(const SectionKind& kind,
                                                      const ThingTable& table,
                                                      std::size_t thing) const {
    std::optional<Share> best;
    const auto offer = [&best](std::int64_t growth, std::optional<std::uint64_t> whole,
                               Measure measure) {
        if (growth > 0 && whole.value_or(0) != 0) {
            const double share = static_cast<double>(growth) / static_cast<double>(*whole);
            if (share >= kLeastShare && (!best || share > best->share)) {
                best = {share, measure};
            }
        }
    };
    // Atoms have their text's bytes, which are a small part of what they take.
    if (kind.sorted_by == Measure::kSize) {
        const std::int64_t growth = change_of(table, thing, Measure::kSize).value_or(0);
        const auto parts = largest_parts_.find(kind.name);
        const auto largest = parts == largest_parts_.end() ? std::int64_t{0} : [&] {
            const auto known = parts->second.find(table.things()[thing].key);
            return known == parts->second.end() ? 0 : known->second;
        }();
        if (largest < growth - growth / 2) {
            offer(growth, memory_bytes_, Measure::kSize);
        }
    }
    if (kind.members_ranked) {
        const auto [before, after] = members_of(table, thing);
        if (exceeds_variation(before, after)) {
            offer(static_cast<std::int64_t>(after - before), members_at_end_, Measure::kMembers);
        }
    }
    return best;
}

std::vector<ThingChange> GrowthList::of(const SectionKind& kind, const ThingTable& table) {
    std::vector<ThingChange> growth;
    if (!kind.ranked) {
        return growth;
    }
    members_at_end_ = last_sum(table, Measure::kMembers);
    auto* parts = kind.container.empty() ? nullptr : &largest_parts_[kind.container];
    for (std::size_t thing = 0; thing < table.things().size(); ++thing) {
        const auto container = table.things()[thing].container;
        if (parts != nullptr && container) {
            std::int64_t& largest = (*parts)[table.containers()[*container]];
            largest = std::max(largest, change_of(table, thing, Measure::kSize).value_or(0));
        }
        if (const auto share = share_of(kind, table, thing)) {
            ThingChange change = thing_change(context_, kind, table, thing);
            change.share = share->share;
            change.ranked_by = share->measure;
            if (const auto& series = change.of(share->measure)) {
                change.steady = series->steady;
            }
            growth.push_back(std::move(change));
        }
    }
    return growth;
}

void GrowthList::sort(std::vector<ThingChange>& growth) {
    std::ranges::stable_sort(growth, [](const ThingChange& a, const ThingChange& b) {
        return std::pair(a.steady.value_or(false), *a.share) >
               std::pair(b.steady.value_or(false), *b.share);
    });
}

}  // namespace beamdump::query
