#include "query/processes/process_groups.h"

#include "query/process/process_names.h"
#include "query/processes/group_names.h"
#include "query/processes/process_fields.h"
#include "query/rows/choice.h"

#include <libdump/base/first_items.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace beamdump::query {

namespace {

constexpr std::array<Named<GroupBy>, 7> kGroupings = {
    {{"initial_call", GroupBy::kInitialCall},
     {"current_function", GroupBy::kCurrentFunction},
     {"status", GroupBy::kStatus},
     {"supervisor", GroupBy::kSupervisor},
     {"ancestor", GroupBy::kAncestor},
     {"label", GroupBy::kLabel},
     {"application", GroupBy::kApplication}}};

constexpr std::array<Named<GroupSort>, 5> kGroupSorts = {{{"memory", GroupSort::kMemory},
                                                          {"count", GroupSort::kCount},
                                                          {"queue", GroupSort::kQueue},
                                                          {"reductions", GroupSort::kReductions},
                                                          {"name", GroupSort::kName}}};

/// A group while it is added up.
struct GroupSums {
    GroupLine group;
    std::uint64_t largest_row = 0;
    std::optional<std::uint64_t> largest_bytes;
};

void add_known(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& part) {
    if (part) {
        sum = sum.value_or(0) + *part;
    }
}

bool group_before(GroupSort sort, const GroupSums& a, const GroupSums& b) {
    const GroupLine& left = a.group;
    const GroupLine& right = b.group;
    const auto by = [&](const auto& of_left, const auto& of_right) {
        return of_left != of_right ? of_left > of_right : left.name < right.name;
    };
    switch (sort) {
        case GroupSort::kMemory:
            return by(left.memory_bytes, right.memory_bytes);
        case GroupSort::kCount:
            return by(left.count, right.count);
        case GroupSort::kQueue:
            return by(left.messages, right.messages);
        case GroupSort::kReductions:
            return by(left.reductions, right.reductions);
        case GroupSort::kName:
            break;
    }
    return left.name < right.name;
}

/// The name of each row's group: from the index, or from what was read of processes before.
class NameOfRow {
  public:
    NameOfRow(Dump& dump, GroupBy by, ColumnSet& columns)
        : owner_(columns.add(records::PROCESS_COLUMN_OWNER_ID)) {
        switch (by) {
            case GroupBy::kInitialCall:
                fields_.emplace_back(dump, kTranslatedCall, columns);
                fields_.emplace_back(dump, ProcessColumn::kInitialCall, columns);
                break;
            case GroupBy::kCurrentFunction:
                fields_.emplace_back(dump, ProcessColumn::kCurrentFunction, columns);
                break;
            case GroupBy::kStatus:
                fields_.emplace_back(dump, ProcessColumn::kStatus, columns);
                break;
            default:
                break;
        }
    }

    void use(const GroupNames* names) { names_ = names; }

    std::string operator()(ProcessIndex::Values values) {
        if (names_ != nullptr) {
            const std::string* name = names_->of(values[owner_].value_or(0));
            return name == nullptr ? std::string() : *name;
        }
        for (FieldText& field : fields_) {
            if (const std::string& text = field.of(values); !text.empty()) {
                return text;
            }
        }
        return {};
    }

  private:
    std::size_t owner_;
    std::vector<FieldText> fields_;
    const GroupNames* names_ = nullptr;
};

}  // namespace

Result<GroupBy> parse_group_by(std::string_view name) {
    return parse_choice("grouping", name, kGroupings);
}

std::string_view group_by_text(GroupBy by) {
    return std::ranges::find(kGroupings, by, &Named<GroupBy>::second)->first;
}

bool reads_processes(GroupBy by) {
    return by == GroupBy::kSupervisor || by == GroupBy::kAncestor || by == GroupBy::kLabel ||
           by == GroupBy::kApplication;
}

Result<GroupSort> parse_group_sort(std::string_view name) {
    return parse_choice("sort order of groups", name, kGroupSorts);
}

Result<ProcessGroups> process_groups(Dump& dump, const std::string& file,
                                     const GroupsOptions& options) {
    ProcessGroups answer;
    answer.dump = dump_facts(dump, file);
    answer.by = options.by;
    answer.total = dump.processes().size();
    ColumnSet columns;
    NameOfRow name_of(dump, options.by, columns);
    ProcessValues values_read(dump, read_columns(options.filters, {}, form_of(dump)),
                              options.progress);
    RETURN_IF_ERROR(read_in_advance(dump, options.filters, {}, values_read));
    Matchers matches(dump, options.filters, columns, values_read);
    const std::size_t memory = columns.add(records::PROCESS_COLUMN_MEMORY_BYTES);
    const std::size_t queue = columns.add(records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH);
    const std::size_t reductions = columns.add(records::PROCESS_COLUMN_REDUCTIONS);
    std::optional<GroupNames> names;
    if (reads_processes(options.by)) {
        ASSIGN_OR_RETURN(names, GroupNames::read(dump, options));
        name_of.use(&*names);
        answer.read = names->counts();
        answer.told = !names->empty();
    }
    std::unordered_map<std::string, GroupSums> groups;
    const auto visit = [&](std::uint64_t row, ProcessIndex::Values values) {
        if (!matches(values)) {
            return true;
        }
        ++answer.matching;
        const auto [place, is_new] = groups.try_emplace(name_of(values));
        GroupSums& sums = place->second;
        ++sums.group.count;
        add_known(sums.group.memory_bytes, values[memory]);
        add_known(sums.group.messages, values[queue]);
        add_known(sums.group.reductions, values[reductions]);
        if (is_new || values[memory] > sums.largest_bytes) {
            sums.largest_row = row;
            sums.largest_bytes = values[memory];
        }
        return true;
    };
    RETURN_IF_ERROR(dump.processes().visit(columns.columns(), visit));
    answer.group_count = groups.size();
    answer.untold = matches.untold();
    FirstItems<GroupSums> first(options.limit,
                                [sort = options.sort](const GroupSums& a, const GroupSums& b) {
                                    return group_before(sort, a, b);
                                });
    for (auto& [name, sums] : groups) {
        if (!name.empty()) {
            sums.group.name = name;
        }
        first.add(std::move(sums));
    }
    auto shown = first.take();
    std::vector<std::uint64_t> largest(shown.size());
    std::ranges::transform(shown, largest.begin(), &GroupSums::largest_row);
    ASSIGN_OR_RETURN(const auto rows, dump.processes().rows(largest));
    ProcessNames names_of_largest(dump);
    for (std::size_t i = 0; i < shown.size(); ++i) {
        shown[i].group.largest = process_line(dump, rows[i]);
        names_of_largest.add_to(shown[i].group.largest, rows[i]);
        answer.groups.push_back(std::move(shown[i].group));
    }
    return answer;
}

}  // namespace beamdump::query
