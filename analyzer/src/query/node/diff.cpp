#include "query/node/diff.h"

#include "query/node/time_span.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <span>
#include <utility>

namespace beamdump::query {

namespace {

/// The compared facts of a process.
struct Row {
    std::uint64_t owner_id = 0;
    std::uint64_t number = 0;  ///< row of its dump's index
    std::uint64_t memory = 0;
    std::uint64_t queue = 0;
    std::array<std::optional<std::uint64_t>, 3> initial_call;
};

Result<std::vector<Row>> read_rows(Dump& dump) {
    constexpr std::array kColumns = {records::PROCESS_COLUMN_OWNER_ID,
                                     records::PROCESS_COLUMN_MEMORY_BYTES,
                                     records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH,
                                     records::PROCESS_COLUMN_INITIAL_MODULE,
                                     records::PROCESS_COLUMN_INITIAL_FUNCTION,
                                     records::PROCESS_COLUMN_INITIAL_ARITY};
    std::vector<Row> rows;
    auto done = dump.processes().visit(kColumns,
                                       [&rows](std::uint64_t number, ProcessIndex::Values values) {
                                           rows.push_back({values[0].value_or(0),
                                                           number,
                                                           values[1].value_or(0),
                                                           values[2].value_or(0),
                                                           {values[3], values[4], values[5]}});
                                           return true;
                                       });
    if (!done) {
        return std::unexpected(done.error());
    }
    std::ranges::sort(rows, {}, &Row::owner_id);
    return rows;
}

std::int64_t growth(std::uint64_t before, std::uint64_t after) {
    return static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before);
}

/// Row numbers in both dumps of one process.
struct Pair {
    std::int64_t growth = 0;
    std::uint64_t before = 0;
    std::uint64_t after = 0;
};

/// The `limit` items that rank highest, largest first.
template <typename Item, typename Rank>
void keep_largest(std::vector<Item>& items, std::uint64_t limit, Rank rank) {
    std::ranges::stable_sort(items, std::greater{}, rank);
    if (limit != 0 && items.size() > limit) {
        items.resize(limit);
    }
}

Result<std::vector<ProcessLine>> lines(Dump& dump, std::span<const std::uint64_t> numbers) {
    ASSIGN_OR_RETURN(auto rows, dump.processes().rows(numbers));
    std::vector<ProcessLine> result;
    for (const auto& row : rows) {
        result.push_back(process_line(dump, row));
    }
    return result;
}

Result<ProcessGroup> group(Dump& dump, std::vector<Row> rows, std::uint64_t limit) {
    ProcessGroup result;
    result.count = rows.size();
    for (const Row& row : rows) {
        result.memory_bytes += row.memory;
    }
    keep_largest(rows, limit, &Row::memory);
    std::vector<std::uint64_t> numbers(rows.size());
    std::ranges::transform(rows, numbers.begin(), &Row::number);
    ASSIGN_OR_RETURN(auto largest, lines(dump, numbers));
    result.largest = std::move(largest);
    return result;
}

Result<std::vector<GrownProcess>> grown_lines(Dump& before, Dump& after, std::vector<Pair> pairs,
                                              std::uint64_t limit) {
    keep_largest(pairs, limit, &Pair::growth);
    std::vector<std::uint64_t> before_rows(pairs.size());
    std::vector<std::uint64_t> after_rows(pairs.size());
    std::ranges::transform(pairs, before_rows.begin(), &Pair::before);
    std::ranges::transform(pairs, after_rows.begin(), &Pair::after);
    ASSIGN_OR_RETURN(auto olds, lines(before, before_rows));
    ASSIGN_OR_RETURN(auto news, lines(after, after_rows));
    std::vector<GrownProcess> result;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const ProcessLine& old_line = (olds)[i];
        const ProcessLine& new_line = (news)[i];
        result.push_back(
            {old_line, new_line,
             growth(old_line.memory_bytes.value_or(0), new_line.memory_bytes.value_or(0)),
             growth(old_line.message_queue_length.value_or(0),
                    new_line.message_queue_length.value_or(0)),
             growth(old_line.reductions.value_or(0), new_line.reductions.value_or(0))});
    }
    return result;
}

/// Whether atoms of two dumps are the same, by text: indexes differ between dumps, e.g. in a
/// converted crash dump.
class SameAtoms {
  public:
    SameAtoms(Dump& before, Dump& after) : before_(before), after_(after) {}

    bool operator()(std::uint64_t before, std::uint64_t after) {
        const auto [place, added] = known_.try_emplace({before, after}, false);
        if (added) {
            place->second = atom_text(before_, static_cast<std::uint32_t>(before)) ==
                            atom_text(after_, static_cast<std::uint32_t>(after));
        }
        return place->second;
    }

  private:
    Dump& before_;
    Dump& after_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, bool> known_;
};

/// Whether initial calls differ; an unknown one differs from none.
bool other_call(SameAtoms& same, const Row& before, const Row& after) {
    const auto& [module, function, arity] = before.initial_call;
    const auto& [other_module, other_function, other_arity] = after.initial_call;
    const auto differ = [&same](const auto& one, const auto& other) {
        return one && other && !same(*one, *other);
    };
    return differ(module, other_module) || differ(function, other_function) ||
           (arity && other_arity && *arity != *other_arity);
}

/// A node writes one crash dump: two different crash dumps are of different runs.
bool other_crash(const Dump& before, const Dump& after) {
    const auto& a = before.capture();
    const auto& b = after.capture();
    return is_of_crash_dump(before) && is_of_crash_dump(after) &&
           (a.slogan() != b.slogan() || a.crash_date() != b.crash_date());
}

/// Whether the dumps may be of one run of one node: no fact that both have differs.
bool same_run(const Dump& before, const Dump& after) {
    const records::Node& a = before.node();
    const records::Node& b = after.node();
    // Boot times are computed from clocks read at capture and may be slightly off.
    constexpr std::int64_t kSlackUs = 5'000'000;
    const bool same_boot =
        !a.has_boot_us() || !b.has_boot_us() || std::abs(a.boot_us() - b.boot_us()) <= kSlackUs;
    const bool same_pid = !before.capture().has_os_pid() || !after.capture().has_os_pid() ||
                          before.capture().os_pid() == after.capture().os_pid();
    const bool same_creation =
        !a.has_creation() || !b.has_creation() || a.creation() == b.creation();
    return same_boot && same_pid && same_creation && !other_crash(before, after);
}

bool same_name(const DumpFacts& before, const DumpFacts& after) {
    return !before.node_name || !after.node_name || before.node_name == after.node_name;
}

std::vector<Change> total_changes(const Dump& before, const Dump& after) {
    const records::Totals& a = before.trailer().totals();
    const records::Totals& b = after.trailer().totals();
    // A crash dump has only the binaries that terms in it reference, and its code includes tables.
    const bool alike = is_of_crash_dump(before) == is_of_crash_dump(after);
    std::vector<Change> changes;
    const auto add = [&](std::string name, bool bytes, auto has, auto get, bool comparable = true) {
        Change change{std::move(name), bytes, comparable, std::nullopt, std::nullopt};
        if (std::invoke(has, a)) {
            change.before = std::invoke(get, a);
        }
        if (std::invoke(has, b)) {
            change.after = std::invoke(get, b);
        }
        changes.push_back(std::move(change));
    };
    using records::Totals;
    add("processes", false, &Totals::has_processes, &Totals::processes);
    add("process_memory", true, &Totals::has_process_memory_bytes, &Totals::process_memory_bytes);
    add("messages", false, &Totals::has_messages, &Totals::messages);
    add("binaries", false, &Totals::has_binaries, &Totals::binaries, alike);
    add("binary_memory", true, &Totals::has_binary_bytes, &Totals::binary_bytes, alike);
    add("atoms", false, &Totals::has_atoms, &Totals::atoms);
    add("modules", false, &Totals::has_modules, &Totals::modules);
    add("code", true, &Totals::has_code_bytes, &Totals::code_bytes, alike);
    add("reductions", false, &Totals::has_reductions, &Totals::reductions);
    return changes;
}

/// Matches the processes of two dumps.
struct Partition {
    std::vector<Row> born;
    std::vector<Row> gone;
    std::vector<Pair> memory;
    std::vector<Pair> queues;
    std::uint64_t common = 0;
    std::uint64_t shrunk = 0;
};

Partition partition(const std::vector<Row>& olds, const std::vector<Row>& news, bool same_run,
                    SameAtoms same_atoms) {
    Partition result;
    auto before = olds.begin();
    auto after = news.begin();
    while (before != olds.end() || after != news.end()) {
        if (after == news.end() || (before != olds.end() && before->owner_id < after->owner_id)) {
            result.gone.push_back(*before++);
        } else if (before == olds.end() || after->owner_id < before->owner_id) {
            result.born.push_back(*after++);
        } else if (!same_run || other_call(same_atoms, *before, *after)) {
            result.gone.push_back(*before++);
            result.born.push_back(*after++);
        } else {
            ++result.common;
            const std::int64_t memory = growth(before->memory, after->memory);
            const std::int64_t queue = growth(before->queue, after->queue);
            if (memory > 0) {
                result.memory.push_back({memory, before->number, after->number});
            }
            if (queue > 0) {
                result.queues.push_back({queue, before->number, after->number});
            }
            result.shrunk += memory < 0 ? 1 : 0;
            ++before;
            ++after;
        }
    }
    return result;
}

}  // namespace

std::vector<std::string> not_comparable(const DumpDiff& diff) {
    std::vector<std::string> names;
    for (const Change& change : diff.totals) {
        if (!change.comparable && change.before && change.after) {
            names.push_back(change.name);
        }
    }
    return names;
}

Result<DumpDiff> diff_dumps(Dump& before, const std::string& before_file, Dump& after,
                            const std::string& after_file, std::uint64_t limit) {
    DumpDiff diff;
    diff.before = dump_facts(before, before_file);
    diff.after = dump_facts(after, after_file);
    if (diff.before.captured_us && diff.after.captured_us) {
        diff.elapsed_us = span_us(*diff.before.captured_us, *diff.after.captured_us);
    }
    diff.same_run = same_run(before, after) && same_name(diff.before, diff.after);
    diff.totals = total_changes(before, after);
    ASSIGN_OR_RETURN(auto olds, read_rows(before));
    ASSIGN_OR_RETURN(auto news, read_rows(after));
    Partition parts = partition(olds, news, diff.same_run, {before, after});
    diff.common = parts.common;
    diff.grown_count = parts.memory.size();
    diff.shrunk_count = parts.shrunk;
    auto born = group(after, std::move(parts.born), limit);
    auto gone = group(before, std::move(parts.gone), limit);
    auto grown = grown_lines(before, after, std::move(parts.memory), limit);
    auto queues = grown_lines(before, after, std::move(parts.queues), limit);
    if (!born || !gone) {
        return std::unexpected(!born ? born.error() : gone.error());
    }
    if (!grown || !queues) {
        return std::unexpected(!grown ? grown.error() : queues.error());
    }
    diff.born = std::move(*born);
    diff.gone = std::move(*gone);
    diff.grown = std::move(*grown);
    diff.grown_queues = std::move(*queues);
    return diff;
}

}  // namespace beamdump::query
