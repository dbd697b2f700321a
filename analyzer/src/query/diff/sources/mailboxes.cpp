#include "query/diff/process_keys.h"
#include "query/exported/exported_things.h"
#include "query/process/messages.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::query {

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
