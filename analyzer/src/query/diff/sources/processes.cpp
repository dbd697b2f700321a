#include "query/diff/diff_source.h"
#include "query/diff/process_keys.h"
#include "query/exported/exported_things.h"
#include "query/process/messages.h"
#include "query/process/process_line.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::query {

namespace {

Result<void> read_processes(DiffContext& context, std::size_t number, ThingTable& table) {
    if (!has_processes(context.dumps[number])) {
        return {};
    }
    table.begin(number, context.dumps[number].whole);
    return each_keyed_process(context, number, [&](const KeyedProcess& process) {
        table.add(process.key,
                  {.size = process.memory,
                   .count = process.messages,
                   .identity = process.identity,
                   .place = process.row},
                  process.call);
    });
}

constexpr DiffSource kProcessSource = {
    .kind = {.name = "processes",
             .title = "Processes",
             .thing = "PROCESS",
             .size = "memory",
             .count = "messages",
             .members = "processes",
             .appeared = "started",
             .gone = "exited",
             .turnover_by = "initial call",
             .ranked = true,
             .container = "groups"},
    .read = read_processes,
    .describe = describe_processes,
};

}  // namespace

const DiffSource& processes_diff_source() {
    return kProcessSource;
}

namespace {

/// Calls `visit` with each registered name of a process, its pid and its place.
Result<void> each_registered(
    const ComparedDump& dump,
    const std::function<void(const std::string& name, const std::string& pid)>& visit) {
    if (dump.exported != nullptr) {
        return each_exported_process(*dump.exported, [&](std::uint64_t, const ProcessLine& line) {
            if (line.registered_name) {
                visit(*line.registered_name, line.pid);
            }
        });
    }
    constexpr std::array kColumns = {records::PROCESS_COLUMN_OWNER_ID,
                                     records::PROCESS_COLUMN_REGISTERED_NAME};
    return dump.dump->processes().visit(kColumns, [&](std::uint64_t, ProcessIndex::Values values) {
        if (values[0] && values[1]) {
            visit(atom_text(*dump.dump, static_cast<std::uint32_t>(*values[1])),
                  pid_text(*values[0]));
        }
        return true;
    });
}

/// A name that another process has is one that was restarted. Of several runs all are.
Result<void> read_registered(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    if (!context.same_run || !has_processes(dump)) {
        return {};
    }
    table.begin(number, dump.whole);
    return each_registered(dump, [&](const std::string& name, const std::string& pid) {
        table.add(name, {.version = std::hash<std::string>()(pid)});
    });
}

/// The pids in the first and the last dump that have the name.
Result<void> describe_registered(DiffContext& context, const ThingTable& /*table*/,
                                 std::span<ThingChange*> things) {
    std::map<std::string, std::pair<std::string, std::string>> pids;
    for (const ThingChange* change : things) {
        pids[change->key];
    }
    for (std::size_t number = 0; number < context.dumps.size() && !things.empty(); ++number) {
        RETURN_IF_ERROR(each_registered(
            context.dumps[number], [&](const std::string& name, const std::string& pid) {
                if (const auto known = pids.find(name); known != pids.end()) {
                    auto& [before, after] = known->second;
                    before = before.empty() ? pid : before;
                    after = pid;
                }
            }));
    }
    for (ThingChange* change : things) {
        const auto& [before, after] = pids[change->key];
        if (change->changed) {
            change->add_detail("pid_before", before);
            change->add_detail("pid_after", after);
            change->title = fmt::format("{} ({}, now {})", change->key, before, after);
        }
    }
    return {};
}

constexpr DiffSource kRegisteredSource = {
    .kind = {.name = "registered_names",
             .title = "Registered names",
             .thing = "NAME",
             .changed = "restarted"},
    .read = read_registered,
    .describe = describe_registered,
};

}  // namespace

const DiffSource& registered_names_diff_source() {
    return kRegisteredSource;
}

namespace {

/// By what the processes run: what proc_lib started, else the initial call.
Result<void> read_groups(DiffContext& context, std::size_t number, ThingTable& table) {
    // Sums over a part of the processes would be compared with sums over all.
    if (!context.dumps[number].whole || !has_processes(context.dumps[number])) {
        return {};
    }
    table.begin(number);
    return each_keyed_process(context, number, [&](const KeyedProcess& process) {
        table.add(process.call, {.size = process.memory, .count = process.messages});
    });
}

constexpr DiffSource kGroupSource = {
    .kind = {.name = "groups",
             .title = "Groups of processes by initial call",
             .thing = "INITIAL CALL",
             .size = "memory",
             .count = "messages",
             .members = "processes",
             .ranked = true,
             .members_ranked = true},
    .read = read_groups,
};

}  // namespace

const DiffSource& groups_diff_source() {
    return kGroupSource;
}

namespace {

/// Processes with messages; of those without nothing is kept.
Result<void> read_mailboxes(DiffContext& context, std::size_t number, ThingTable& table) {
    if (!has_processes(context.dumps[number])) {
        return {};
    }
    table.begin(number, context.dumps[number].whole);
    return each_keyed_process(context, number, [&](const KeyedProcess& process) {
        if (process.messages != 0) {
            table.add(
                process.key,
                {.count = process.messages, .identity = process.identity, .place = process.row});
        }
    });
}

/// The same of an export, where `name` is a pid or a registered name; nothing where it has no
/// shapes of the process.
Result<std::optional<MessageHistogram>> exported_histogram(const ExportFile& file,
                                                           const std::string& name) {
    std::vector<std::string> pids;
    RETURN_IF_ERROR(each_exported_process(file, [&](std::uint64_t, const ProcessLine& line) {
        if (line.pid == name || line.registered_name == name) {
            pids.push_back(line.pid);
        }
    }));
    ASSIGN_OR_RETURN(const auto shapes, exported_shapes(file, pids));
    if (shapes.empty()) {
        return std::optional<MessageHistogram>();
    }
    MessageHistogram histogram;
    for (const auto& [shape, count] : shapes.begin()->second) {
        if (shape) {
            histogram.shapes.push_back({.shape = *shape, .count = count});
        } else {
            histogram.other += count;
        }
    }
    return std::optional(std::move(histogram));
}

/// Messages by shape; nothing where the dump does not have them: those of a process whose copy is
/// void or withheld, or of a crash dump that was read without terms.
Result<std::optional<MessageHistogram>> shapes_in(const DiffContext& context, std::size_t number,
                                                  const std::string& name) {
    if (const ExportFile* exported = context.dumps[number].exported) {
        return exported_histogram(*exported, name);
    }
    Dump& dump = *context.dumps[number].dump;
    ASSIGN_OR_RETURN(const auto process, open_process(dump, name));
    if (terms_withheld(process->run, context.options.sensitive) != Withheld::kNo ||
        process->run.directory.messages.empty()) {
        return std::optional<MessageHistogram>();
    }
    ASSIGN_OR_RETURN(auto histogram, message_histogram(dump, *process));
    return std::optional(std::move(histogram));
}

Result<void> add_shapes(const DiffContext& context, const ThingTable& table, ThingChange& change) {
    using Values = std::vector<std::optional<std::uint64_t>>;
    const auto name = name_in_key(context, change.key);
    if (!name) {
        return {};
    }
    std::map<std::string, std::map<std::size_t, std::uint64_t>> counts;
    Values none(context.dumps.size());
    for (std::size_t number = 0; number < context.dumps.size(); ++number) {
        if (!table.is_in(change.number, number)) {
            none[number] = table.value(change.number, Measure::kCount, number);
            continue;
        }
        ASSIGN_OR_RETURN(const auto histogram, shapes_in(context, number, *name));
        if (!histogram) {
            continue;
        }
        none[number] = 0;
        for (const ShapeCount& shape : histogram->shapes) {
            counts[shape.shape][number] = shape.count;
        }
        if (histogram->other != 0) {
            counts["(other shapes)"][number] = histogram->other;
        }
    }
    for (const auto& [shape, by_dump] : counts) {
        Values values = none;
        for (const auto& [number, count] : by_dump) {
            values[number] = count;
        }
        change.parts.push_back({shape, make_series(std::move(values), context.times_us)});
    }
    std::ranges::stable_sort(change.parts, [](const ChangedPart& a, const ChangedPart& b) {
        return a.count.growth() > b.count.growth();
    });
    return {};
}

Result<void> describe_mailboxes(DiffContext& context, const ThingTable& table,
                                std::span<ThingChange*> things) {
    RETURN_IF_ERROR(describe_processes(context, table, things));
    for (ThingChange* change : things) {
        if (!change->gone) {
            RETURN_IF_ERROR(add_shapes(context, table, *change));
        }
    }
    return {};
}

constexpr DiffSource kMailboxSource = {
    .kind = {.name = "mailboxes",
             .title = "Mailboxes",
             .thing = "PROCESS",
             .count = "messages",
             .appeared = "filled",
             .gone = "emptied",
             .sorted_by = Measure::kCount},
    .read = read_mailboxes,
    .describe = describe_mailboxes,
};

}  // namespace

const DiffSource& mailboxes_diff_source() {
    return kMailboxSource;
}

}  // namespace beamdump::query
