#include "query/tables/atoms.h"

#include "query/rows/choice.h"
#include "query/tables/atom_sections.h"

#include <libdump/base/first_items.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>
#include <libdump/term/atom_text.h>

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace beamdump::query {

namespace {

constexpr std::array<Named<AtomSort>, 4> kAtomSorts = {{{"newest", AtomSort::kNewest},
                                                        {"count", AtomSort::kCount},
                                                        {"bytes", AtomSort::kBytes},
                                                        {"name", AtomSort::kName}}};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool group_before(AtomSort sort, const AtomGroup& a, const AtomGroup& b) {
    switch (sort) {
        case AtomSort::kCount:
            return std::tie(b.count, b.newest_index) < std::tie(a.count, a.newest_index);
        case AtomSort::kBytes:
            return std::tie(b.bytes, b.newest_index) < std::tie(a.bytes, a.newest_index);
        case AtomSort::kName:
            return std::tie(a.name, b.newest_index) < std::tie(b.name, a.newest_index);
        case AtomSort::kNewest:
            break;
    }
    return a.newest_index > b.newest_index;
}

bool atom_before(AtomSort sort, const AtomLine& a, const AtomLine& b) {
    switch (sort) {
        case AtomSort::kBytes:
            return std::tie(b.bytes, b.index) < std::tie(a.bytes, a.index);
        case AtomSort::kName:
            return std::tie(a.text, b.index) < std::tie(b.text, a.index);
        default:
            return a.index > b.index;
    }
}

class AtomGroups {
  public:
    void add(std::uint32_t index, const std::string& text, AtomReport& report) {
        auto folded = folded_digits(text);
        auto known = groups_.find(folded);
        if (known == groups_.end()) {
            if (groups_.size() >= kMaxAtomGroups) {
                ++report.ungrouped;
                return;
            }
            known = groups_.emplace(std::move(folded), AtomGroup{}).first;
            // Atoms come newest first.
            known->second.newest_index = index;
            known->second.newest = text;
        }
        ++known->second.count;
        known->second.bytes += text.size();
    }

    void list(AtomSort sort, std::uint64_t limit, AtomReport& report) {
        report.groups = groups_.size();
        FirstItems<AtomGroup> first(limit, [sort](const AtomGroup& a, const AtomGroup& b) {
            return group_before(sort, a, b);
        });
        for (auto& [folded, group] : groups_) {
            group.pattern = quoted_atom(folded);
            group.name = group.count == 1 ? quoted_atom(group.newest) : group.pattern;
            group.newest = quoted_atom(group.newest);
            first.add(std::move(group));
        }
        report.largest_groups = first.take();
    }

  private:
    std::unordered_map<std::string, AtomGroup> groups_;
};

}  // namespace

std::string folded_digits(std::string_view text) {
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

/// A crash dump tells it.
AtomLimit atom_limit(const Dump& dump) {
    if (dump.node().has_atom_limit()) {
        return {dump.node().atom_limit(), false};
    }
    const auto& arguments = dump.node().arguments();
    return !form_of(dump).vm_arguments ? AtomLimit()
                                       : atom_limit_of({arguments.begin(), arguments.end()});
}

Result<AtomSort> parse_atom_sort(std::string_view name) {
    return parse_choice("sort order", name, kAtomSorts);
}

Result<AtomReport> atom_report(Dump& dump, const std::string& file, const AtomsOptions& options) {
    AtomReport report;
    report.dump = dump_facts(dump, file);
    report.in_order = form_of(dump).atom_indices;
    const AtomLimit limit = atom_limit(dump);
    report.limit = limit.limit;
    report.limit_is_default = limit.is_default;
    const AtomSort sort =
        options.sort.value_or(options.list ? AtomSort::kNewest : AtomSort::kCount);
    FirstItems<AtomLine> first(options.limit, [sort](const AtomLine& a, const AtomLine& b) {
        return atom_before(sort, a, b);
    });
    AtomGroups groups;
    const auto visit = [&](std::uint32_t index, const std::string& text) {
        ++report.named;
        report.text_bytes += text.size();
        if (!contains_all(text, options.filters)) {
            return;
        }
        ++report.matching;
        if (options.list) {
            first.add({index, quoted_atom(text), text.size()});
        } else {
            groups.add(index, text, report);
        }
    };
    const auto& totals = dump.trailer().totals();
    if (is_of_crash_dump(dump)) {
        ASSIGN_OR_RETURN(const auto sections,
                         visit_atom_sections(dump, file, totals.atoms(), visit));
        report.in_order = sections != 0 && sections <= totals.atoms();
        if (totals.has_atoms()) {
            report.count = totals.atoms();
        }
        if (sections == 0) {
            report.absent_because = dump.capture().has_cut_off()
                                        ? "the crash dump breaks off before its section of atoms"
                                        : "the crash dump has no section of atoms";
        }
    } else {
        RETURN_IF_ERROR(dump.atoms().visit_newest_first(visit));
        report.count = report.named;
    }
    if (options.list) {
        report.atoms = first.take();
    } else {
        groups.list(sort, options.limit, report);
    }
    return report;
}

}  // namespace beamdump::query
