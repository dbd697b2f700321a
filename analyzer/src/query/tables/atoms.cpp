#include "query/tables/atoms.h"

#include "query/tables/atom_sections.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>
#include <libdump/term/atom_text.h>

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace beamdump::query {

namespace {

constexpr std::array<Column, 3> kAtomColumns = {
    {{.name = "index", .title = "INDEX", .kind = ColumnKind::kSpan, .also = "newest"},
     {.name = "text",
      .title = "ATOM",
      .kind = ColumnKind::kTextOfAll,
      .shrinks = true,
      .also = "name",
      .sentence = "As Erlang prints it"},
     {.name = "bytes",
      .title = "TEXT",
      .kind = ColumnKind::kBytes,
      .sentence = "Of the text, UTF-8"}}};

constexpr std::array<Column, 6> kGroupColumns = {
    {{.name = "atoms",
      .title = "ATOMS, DIGITS AS N, PARTS AS *",
      .kind = ColumnKind::kTextOfAll,
      .shrinks = true,
      .also = "name",
      .sentence =
          "As Erlang prints it, each run of digits as N, and * for what differs in 1,000 or "
          "more that begin or end alike; of one atom, its text"},
     {.name = "count", .title = "COUNT", .kind = ColumnKind::kCount, .minimum = 1},
     {.name = "share",
      .title = "SHARE",
      .kind = ColumnKind::kTenths,
      .sentence = "Of the atoms whose text is in the dump",
      .exported = false,
      .in_json = false},
     {.name = "bytes",
      .title = "TEXT",
      .kind = ColumnKind::kBytes,
      .sentence = "Of their texts, UTF-8"},
     {.name = "newest",
      .title = "NEWEST",
      .kind = ColumnKind::kTextOfAll,
      .shrinks = true,
      .sentence = "The text of that with the largest index"},
     {.name = "newest_index", .kind = ColumnKind::kSpan, .sentence = "Its index"}}};

struct AtomGroup {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::uint32_t newest_index = 0;
    std::string newest;
};

/// Fewer that have a beginning and an end in common are names that people gave: the functions of
/// all applications of a release have some hundred that begin with `get_`.
constexpr std::uint64_t kManyAlike = 1000;
constexpr std::string_view kBetweenWords = "_-.:/@ ";

/// What is left of a text with one part of it as *.
struct Affixes {
    std::string_view prefix, suffix;
    [[nodiscard]] std::string pattern() const {
        return std::string(prefix) + '*' + std::string(suffix);
    }
};

/// The first two words and the last one, the first and the last, the first two, the first, the
/// last, each with what parts it from the rest; those that the text has, and something between.
std::vector<Affixes> affixes_of(std::string_view text) {
    const auto first = text.find_first_of(kBetweenWords, 1);
    if (first == std::string_view::npos) {
        return {};
    }
    const auto second = text.find_first_of(kBetweenWords, first + 1);
    const auto end = text.substr(text.find_last_of(kBetweenWords));
    std::vector<Affixes> all;
    const auto add = [&](std::string_view prefix, std::string_view suffix) {
        // A text that ends with what parts words has no last one.
        if (prefix.size() + suffix.size() < text.size() && suffix.size() != 1) {
            all.push_back({prefix, suffix});
        }
    };
    const auto one = text.substr(0, first + 1);
    if (second == std::string_view::npos) {
        add(one, end);
        add(one, {});
    } else {
        const auto two = text.substr(0, second + 1);
        add(two, end);
        add(one, end);
        add(two, {});
        add(one, {});
    }
    add({}, end);
    return all;
}

class AtomGroups {
  public:
    void add(std::uint32_t index, const std::string& text, AtomCounts& counts) {
        auto folded = folded_digits(text);
        auto known = groups_.find(folded);
        if (known == groups_.end()) {
            if (groups_.size() >= kMaxAtomGroups) {
                ++counts.ungrouped;
                return;
            }
            // Atoms come newest first.
            known =
                groups_.emplace(std::move(folded), AtomGroup{.newest_index = index, .newest = text})
                    .first;
        }
        ++known->second.count;
        known->second.bytes += text.size();
    }

    /// Puts groups together that have a beginning or an end in common with kManyAlike atoms.
    /// Memory: 16 bytes for each of affixes_of() each group.
    void put_alike_together() {
        struct Alike {
            std::uint64_t hash = 0;
            std::uint64_t count = 0;
        };
        std::vector<Alike> alike;
        const auto hash_of = [](const Affixes& affixes) {
            return std::hash<std::string>()(affixes.pattern());
        };
        for (const auto& [folded, group] : groups_) {
            if (group.count < kManyAlike) {
                for (const auto& affixes : affixes_of(folded)) {
                    alike.push_back({hash_of(affixes), group.count});
                }
            }
        }
        std::ranges::sort(alike, {}, &Alike::hash);
        std::unordered_map<std::uint64_t, std::uint64_t> many;
        for (auto from = alike.begin(); from != alike.end();) {
            std::uint64_t count = 0;
            auto to = from;
            for (; to != alike.end() && to->hash == from->hash; ++to) {
                count += to->count;
            }
            if (count >= kManyAlike) {
                many.emplace(from->hash, count);
            }
            from = to;
        }
        if (many.empty()) {
            return;
        }
        std::unordered_map<std::string, AtomGroup> merged;
        for (auto& [folded, group] : groups_) {
            auto name = folded;
            if (group.count < kManyAlike) {
                name = pattern_of(folded, [&](const Affixes& affixes) {
                    const auto known = many.find(hash_of(affixes));
                    return known == many.end() ? 0 : known->second;
                });
            }
            auto& into = merged[name];
            into.count += group.count;
            into.bytes += group.bytes;
            if (into.newest.empty() || group.newest_index > into.newest_index) {
                into.newest_index = group.newest_index;
                into.newest = std::move(group.newest);
            }
        }
        groups_ = std::move(merged);
    }

    void list(std::uint64_t named, RowList& list) const {
        constexpr std::uint64_t kTenthsOfAll = 1000;
        for (const auto& [folded, group] : groups_) {
            auto newest = quoted_atom(group.newest);
            auto name = group.count == 1 ? newest : quoted_atom(folded);
            list.add({std::move(name), group.count, group.count * kTenthsOfAll / named, group.bytes,
                      std::move(newest), std::uint64_t{group.newest_index}});
        }
    }

  private:
    /// The text itself, or the longest of its patterns that has half as many atoms as the one with
    /// most.
    template <typename CountOf>
    static std::string pattern_of(const std::string& text, CountOf count_of) {
        std::uint64_t most = 0;
        const auto all = affixes_of(text);
        for (const auto& affixes : all) {
            most = std::max<std::uint64_t>(most, count_of(affixes));
        }
        const auto chosen = std::ranges::find_if(all, [&](const Affixes& affixes) {
            return most != 0 && count_of(affixes) * 2 >= most;
        });
        return chosen == all.end() ? text : chosen->pattern();
    }

    std::unordered_map<std::string, AtomGroup> groups_;  ///< by folded text or pattern
};

/// What atoms' texts must have, taken from the filters.
std::vector<std::string> take_texts(std::vector<std::string>& filters) {
    std::vector<std::string> texts;
    std::erase_if(filters, [&texts](const std::string& filter) {
        const auto split = split_filter(filter);
        if (!split.column.empty()) {
            return false;
        }
        texts.emplace_back(split.value);
        return true;
    });
    return texts;
}

}  // namespace

std::span<const Column> atom_columns(AtomRows rows) {
    return rows == AtomRows::kEach ? std::span<const Column>(kAtomColumns) : kGroupColumns;
}

std::string_view atom_sort(AtomRows rows) {
    return rows == AtomRows::kEach ? "index" : "count,newest_index";
}

std::string_view text_at(const Row& row, AtomGroupPlace place) {
    return std::get<std::string>(row[std::to_underlying(place)]);
}

std::uint64_t number_at(const Row& row, AtomGroupPlace place) {
    return std::get<std::uint64_t>(row[std::to_underlying(place)]);
}

std::string folded_digits(std::string_view text) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    std::string folded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!is_digit(text[i])) {
            folded += text[i];
        } else if (i == 0 || !is_digit(text[i - 1])) {
            folded += 'N';
        }
    }
    return folded;
}

std::vector<std::string> atom_patterns(std::string_view folded) {
    std::vector<std::string> patterns;
    for (const auto& affixes : affixes_of(folded)) {
        patterns.push_back(affixes.pattern());
    }
    return patterns;
}

/// A crash dump tells it.
AtomLimit atom_limit(const Dump& dump) {
    if (dump.node().has_atom_limit()) {
        return {dump.node().atom_limit(), false};
    }
    const auto& arguments = dump.node().arguments();
    return !form_of(dump).vm_arguments ? AtomLimit()
                                       : atom_limit_of({arguments.begin(), arguments.end()});
}

Result<AtomsAnswer> list_atoms(Dump& dump, const std::string& file, AtomRows rows,
                               const RowQuery& query) {
    RowQuery of_rows = query;
    const auto texts = take_texts(of_rows.filters);
    if (of_rows.sort.empty()) {
        of_rows.sort = atom_sort(rows);
    }
    ASSIGN_OR_RETURN(auto list, RowList::make(atom_columns(rows), of_rows));
    AtomsAnswer answer{.counts = {}, .list = std::move(list)};
    AtomCounts& counts = answer.counts;
    counts.in_order = form_of(dump).atom_indices;
    const AtomLimit limit = atom_limit(dump);
    counts.limit = limit.limit;
    counts.limit_is_default = limit.is_default;
    AtomGroups groups;
    const auto visit = [&](std::uint32_t index, const std::string& text) {
        ++counts.named;
        counts.text_bytes += text.size();
        if (!std::ranges::all_of(texts, [&text](const std::string& wanted) {
                return has_pattern(text, wanted, Case::kMatters);
            })) {
            return;
        }
        ++counts.matching;
        if (rows == AtomRows::kEach) {
            answer.list.add({std::uint64_t{index}, quoted_atom(text), std::uint64_t{text.size()}});
        } else {
            groups.add(index, text, counts);
        }
    };
    const auto& totals = dump.trailer().totals();
    if (is_of_crash_dump(dump)) {
        ASSIGN_OR_RETURN(const auto sections,
                         visit_atom_sections(dump, file, totals.atoms(), visit));
        counts.in_order = sections != 0 && sections <= totals.atoms();
        if (totals.has_atoms()) {
            counts.count = totals.atoms();
        }
        if (sections == 0) {
            counts.absent_because = dump.capture().has_cut_off()
                                        ? "the crash dump breaks off before its section of atoms"
                                        : "the crash dump has no section of atoms";
        }
    } else {
        RETURN_IF_ERROR(dump.atoms().visit_newest_first(visit));
        counts.count = counts.named;
    }
    groups.put_alike_together();
    groups.list(counts.named, answer.list);
    return answer;
}

}  // namespace beamdump::query
