#include "query/diff/thing_table.h"

#include <algorithm>

namespace beamdump::query {

namespace {

/// Sums of a forged dump stay below the number that stands for unknown.
std::uint64_t bounded_sum(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    return std::min(std::min(a, kMost) + std::min(b, kMost), kMost);
}

}  // namespace

void ThingTable::begin(std::size_t dump, bool whole) {
    dump_ = dump;
    has_[dump] = true;
    whole_[dump] = whole;
}

std::size_t ThingTable::thing_of(std::string_view key, const Amounts& amounts,
                                 std::string_view container) {
    auto known = by_key_.find(key);
    if (known != by_key_.end()) {
        Thing& thing = things_[known->second];
        const bool other =
            thing.identity && amounts.identity && *thing.identity != *amounts.identity;
        if (!other) {
            thing.identity = amounts.identity ? amounts.identity : thing.identity;
            thing.changed |= thing.version && amounts.version && *thing.version != *amounts.version;
            thing.version = amounts.version ? amounts.version : thing.version;
            return known->second;
        }
    } else {
        known = by_key_.emplace(key, 0).first;
    }
    known->second = static_cast<std::uint32_t>(things_.size());
    Thing& thing = things_.emplace_back();
    thing.key = key;
    thing.identity = amounts.identity;
    thing.version = amounts.version;
    if (!container.empty()) {
        auto number = container_numbers_.find(container);
        if (number == container_numbers_.end()) {
            number = container_numbers_
                         .emplace(container, static_cast<std::uint32_t>(containers_.size()))
                         .first;
            containers_.emplace_back(container);
        }
        thing.container = number->second;
    }
    values_.resize(things_.size() * dumps() * kMeasures.size(), 0);
    return things_.size() - 1;
}

void ThingTable::add(std::string_view key, const Amounts& amounts, std::string_view container) {
    const std::size_t number = thing_of(key, amounts, container);
    Thing& thing = things_[number];
    const bool first_here = values_[cell(number, Measure::kMembers, dump_)] == 0;
    thing.last_dump = static_cast<std::uint32_t>(dump_);
    if (first_here) {
        thing.place = amounts.place;
    }
    const auto put = [&](Measure measure, std::optional<std::uint64_t> amount) {
        std::uint64_t& value = values_[cell(number, measure, dump_)];
        if (first_here) {
            value = amount ? bounded_sum(*amount, 0) : kUnknown;
        } else if (amount) {
            value = bounded_sum(value == kUnknown ? 0 : value, *amount);
        }
    };
    put(Measure::kSize, amounts.size);
    put(Measure::kCount, amounts.count);
    put(Measure::kMembers, amounts.members);
}

std::optional<std::uint64_t> ThingTable::value(std::size_t thing, Measure measure,
                                               std::size_t dump) const {
    if (!has_[dump]) {
        return std::nullopt;
    }
    if (!whole_[dump] && values_[cell(thing, Measure::kMembers, dump)] == 0) {
        return std::nullopt;
    }
    const std::uint64_t value = values_[cell(thing, measure, dump)];
    return value == kUnknown ? std::nullopt : std::optional(value);
}

std::optional<std::uint64_t> ThingTable::sum(Measure measure, std::size_t dump) const {
    if (!is_whole(dump)) {
        return std::nullopt;
    }
    std::uint64_t total = 0;
    for (std::size_t thing = 0; thing < things_.size(); ++thing) {
        const auto part = value(thing, measure, dump);
        if (!part) {
            return std::nullopt;
        }
        total = bounded_sum(total, *part);
    }
    return total;
}

}  // namespace beamdump::query
