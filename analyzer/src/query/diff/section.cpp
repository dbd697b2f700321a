#include "query/diff/section.h"

#include <libdump/base/first_items.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

namespace beamdump::query {

namespace {

struct Ranked {
    std::int64_t amount = 0;
    std::size_t thing = 0;
};

using RankedItems = FirstItems<Ranked>;

RankedItems largest_first(const ThingTable& table, std::uint64_t limit) {
    return {limit, [&table](const Ranked& a, const Ranked& b) {
                return std::tie(b.amount, table.things()[a.thing].key, a.thing) <
                       std::tie(a.amount, table.things()[b.thing].key, b.thing);
            }};
}

std::vector<std::optional<std::uint64_t>> values_of(const ThingTable& table, std::size_t thing,
                                                    Measure measure) {
    std::vector<std::optional<std::uint64_t>> values;
    for (std::size_t dump = 0; dump < table.dumps(); ++dump) {
        values.push_back(table.value(thing, measure, dump));
    }
    return values;
}

/// First and last dump with the section.
struct Ends {
    std::size_t first = 0;
    std::size_t last = 0;
};

Ends ends_of(const ThingTable& table) {
    Ends ends{table.dumps(), 0};
    for (std::size_t dump = 0; dump < table.dumps(); ++dump) {
        if (table.has(dump)) {
            ends.first = std::min(ends.first, dump);
            ends.last = dump;
        }
    }
    return ends;
}

/// Known not to be there.
bool is_missing(const ThingTable& table, std::size_t thing, std::size_t dump) {
    return table.value(thing, Measure::kMembers, dump) == 0;
}

/// The latest known amount of a thing that is gone.
std::int64_t last_amount(const ThingTable& table, std::size_t thing, Measure measure) {
    const auto amount = table.value(thing, measure, table.things()[thing].last_dump);
    return static_cast<std::int64_t>(
        std::min<std::uint64_t>(amount.value_or(0), std::numeric_limits<std::int64_t>::max()));
}

/// Counts by container what appeared and went.
class TurnoverCounts {
  public:
    explicit TurnoverCounts(const ThingTable& table)
        : table_(table), counts_(table.containers().size()) {}

    void appeared(std::size_t thing) {
        if (auto* of = container_of(thing)) {
            ++of->appeared;
        }
    }
    void gone(std::size_t thing) {
        if (auto* of = container_of(thing)) {
            ++of->gone;
        }
    }
    void list(std::uint64_t limit, DiffSection& section) {
        for (std::size_t at = 0; at < counts_.size(); ++at) {
            counts_[at].container = table_.containers()[at];
        }
        std::erase_if(counts_, [](const Turnover& of) { return of.appeared + of.gone == 0; });
        std::ranges::sort(counts_, [](const Turnover& a, const Turnover& b) {
            return std::tuple(b.appeared + b.gone, std::string_view(a.container)) <
                   std::tuple(a.appeared + a.gone, std::string_view(b.container));
        });
        section.turnover_count = counts_.size();
        if (limit != 0 && counts_.size() > limit) {
            counts_.resize(limit);
        }
        section.turnover = std::move(counts_);
    }

  private:
    Turnover* container_of(std::size_t thing) {
        const auto& container = table_.things()[thing].container;
        return container ? &counts_[*container] : nullptr;
    }

    const ThingTable& table_;
    std::vector<Turnover> counts_;
};

}  // namespace

std::optional<std::int64_t> change_of(const ThingTable& table, std::size_t thing, Measure measure) {
    std::optional<std::uint64_t> first;
    std::optional<std::uint64_t> last;
    std::size_t known = 0;
    for (std::size_t dump = 0; dump < table.dumps(); ++dump) {
        if (const auto value = table.value(thing, measure, dump)) {
            first = first ? first : value;
            last = value;
            ++known;
        }
    }
    return known < 2 ? std::nullopt
                     : std::optional(static_cast<std::int64_t>(*last) -
                                     static_cast<std::int64_t>(*first));
}

ThingChange thing_change(const DiffContext& context, const SectionKind& kind,
                         const ThingTable& table, std::size_t thing) {
    const Ends ends = ends_of(table);
    ThingChange change;
    change.kind = &kind;
    change.number = thing;
    change.key = change.title = table.things()[thing].key;
    for (std::size_t dump = 0; dump < table.dumps(); ++dump) {
        change.in.push_back(table.is_in(thing, dump));
    }
    change.appeared = is_missing(table, thing, ends.first) && change.in[ends.last];
    change.gone = is_missing(table, thing, ends.last) && !is_missing(table, thing, ends.first);
    change.changed = table.things()[thing].changed;
    for (const Measure measure : kMeasures) {
        if (kind.name_of(measure).empty()) {
            continue;
        }
        auto values = values_of(table, thing, measure);
        if (std::ranges::any_of(values, [](const auto& value) { return value.has_value(); })) {
            change.series.at(static_cast<std::size_t>(measure)) =
                make_series(std::move(values), context.times_us);
        }
    }
    return change;
}

DiffSection make_section(const DiffContext& context, const SectionKind& kind,
                         const ThingTable& table) {
    DiffSection section;
    section.kind = &kind;
    for (std::size_t dump = 0; dump < table.dumps(); ++dump) {
        section.has.push_back(table.has(dump));
        section.whole.push_back(table.is_whole(dump));
    }
    for (const Measure measure : kMeasures) {
        if (kind.name_of(measure).empty()) {
            continue;
        }
        std::vector<std::optional<std::uint64_t>> sums;
        for (std::size_t dump = 0; dump < table.dumps(); ++dump) {
            sums.push_back(table.sum(measure, dump));
        }
        section.totals.at(static_cast<std::size_t>(measure)) =
            make_series(std::move(sums), context.times_us);
    }
    section.things = table.things().size();
    if (!section.compared()) {
        return section;
    }
    const Ends ends = ends_of(table);
    RankedItems grown = largest_first(table, context.options.limit);
    RankedItems gone = largest_first(table, context.options.limit);
    RankedItems changed = largest_first(table, context.options.limit);
    TurnoverCounts turnover(table);
    for (std::size_t thing = 0; thing < table.things().size(); ++thing) {
        const auto growth = change_of(table, thing, kind.sorted_by);
        const bool in_first = table.is_in(thing, ends.first);
        const bool in_last = table.is_in(thing, ends.last);
        if (in_first && in_last) {
            ++section.common;
            section.grown += growth.value_or(0) > 0 ? 1 : 0;
            section.shrunk += growth.value_or(0) < 0 ? 1 : 0;
            if (table.things()[thing].changed) {
                ++section.changed;
                changed.add({0, thing});
            }
        } else if (in_last && is_missing(table, thing, ends.first)) {
            ++section.appeared;
            turnover.appeared(thing);
        } else if (in_first && is_missing(table, thing, ends.last)) {
            ++section.gone;
            turnover.gone(thing);
            gone.add({last_amount(table, thing, kind.sorted_by), thing});
        }
        if (growth.value_or(0) > 0) {
            grown.add({*growth, thing});
        }
    }
    const auto list = [&](RankedItems& items, std::vector<ThingChange>& into) {
        for (const Ranked& item : items.take()) {
            into.push_back(thing_change(context, kind, table, item.thing));
        }
    };
    list(grown, section.grown_most);
    list(gone, section.gone_most);
    list(changed, section.changed_most);
    if (!kind.turnover_by.empty() && context.same_run) {
        turnover.list(context.options.limit, section);
    }
    return section;
}

}  // namespace beamdump::query
