#include "query/diff/process_keys.h"

#include "query/exported/exported_things.h"
#include "query/process/process_line.h"
#include "query/process/process_names.h"
#include "query/processes/process_fields.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::query {

namespace {

constexpr std::string_view kRegistered = "registered ";

/// Labels of a dump's processes, read once; null: no process has one.
Result<const GroupNames*> labels_of(DiffContext& context, std::size_t number) {
    ComparedDump& dump = context.dumps[number];
    if (!dump.labels) {
        ASSIGN_OR_RETURN(const auto atom, dump.dump->atoms().index_of("$process_label"));
        if (!atom) {
            return static_cast<const GroupNames*>(nullptr);
        }
        GroupsOptions options;
        options.by = GroupBy::kLabel;
        options.sensitive = context.options.sensitive;
        options.progress = context.options.progress;
        ASSIGN_OR_RETURN(dump.labels, GroupNames::read(*dump.dump, options));
        context.read.read += dump.labels->counts().read;
        context.read.inconsistent += dump.labels->counts().inconsistent;
        context.read.sensitive += dump.labels->counts().sensitive;
    }
    return &*dump.labels;
}

std::optional<std::uint64_t> identity_of(const DiffContext& context, const std::string& call) {
    return call.empty() || !context.same_run
               ? std::nullopt
               : std::optional<std::uint64_t>(std::hash<std::string>()(call));
}

/// A crash dump does not tell what proc_lib started.
std::string call_of(const DiffContext& context, const std::string& initial,
                    const std::string& translated) {
    const std::string& shown = context.any_crash_dump || translated.empty() ? initial : translated;
    return shown.empty() ? "(unknown)" : shown;
}

Result<void> each_of_export(const DiffContext& context, const ExportFile& file,
                            const std::function<void(const KeyedProcess&)>& visit) {
    KeyedProcess process;
    return each_exported_process(file, [&](std::uint64_t place, const ProcessLine& line) {
        process.row = place;
        process.memory = line.memory_bytes;
        process.messages = line.message_queue_length;
        const std::string initial = line.initial_call.value_or("");
        process.identity = identity_of(context, initial);
        process.call = call_of(context, initial, line.translated_initial_call.value_or(""));
        process.key = context.same_run       ? line.pid
                      : line.registered_name ? std::string(kRegistered) + *line.registered_name
                                             : "initial call " + process.call;
        visit(process);
    });
}

/// What lists say of the processes at these places.
Result<std::vector<ProcessLine>> lines_at(const ComparedDump& dump,
                                          const std::vector<std::uint64_t>& places) {
    if (dump.exported != nullptr) {
        return exported_processes_at(*dump.exported, places);
    }
    ASSIGN_OR_RETURN(const auto rows, dump.dump->processes().rows(places));
    std::vector<ProcessLine> lines;
    lines.reserve(rows.size());
    for (const auto& row : rows) {
        lines.push_back(process_line(*dump.dump, row));
    }
    ProcessNames(*dump.dump).add_to(lines, rows);
    return lines;
}

}  // namespace

bool has_processes(const ComparedDump& dump) {
    return dump.exported == nullptr || dump.exported->has_processes();
}

Result<void> each_keyed_process(DiffContext& context, std::size_t number,
                                const std::function<void(const KeyedProcess&)>& visit) {
    if (const ExportFile* exported = context.dumps[number].exported) {
        return each_of_export(context, *exported, visit);
    }
    Dump& dump = *context.dumps[number].dump;
    ColumnSet columns;
    const std::size_t owner = columns.add(records::PROCESS_COLUMN_OWNER_ID);
    const std::size_t memory = columns.add(records::PROCESS_COLUMN_MEMORY_BYTES);
    const std::size_t queue = columns.add(records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH);
    const std::size_t name = columns.add(records::PROCESS_COLUMN_REGISTERED_NAME);
    FieldText translated(dump, kTranslatedCall, columns);
    FieldText initial(dump, ProcessColumn::kInitialCall, columns);
    const GroupNames* labels = nullptr;
    if (!context.same_run && context.has_labels()) {
        ASSIGN_OR_RETURN(labels, labels_of(context, number));
    }
    const auto across_runs = [&](const KeyedProcess& process, ProcessIndex::Values values) {
        if (values[name]) {
            return std::string(kRegistered) +
                   atom_text(dump, static_cast<std::uint32_t>(*values[name]));
        }
        const std::string* label = labels == nullptr ? nullptr : labels->of(process.owner);
        return label != nullptr ? "label " + *label : "initial call " + process.call;
    };
    KeyedProcess process;
    return dump.processes().visit(
        columns.columns(), [&](std::uint64_t row, ProcessIndex::Values values) {
            process.row = row;
            process.owner = values[owner].value_or(0);
            process.memory = values[memory];
            process.messages = values[queue];
            const std::string& call = initial.of(values);
            process.identity = identity_of(context, call);
            process.call = call_of(context, call, translated.of(values));
            process.key = context.same_run ? pid_text(process.owner) : across_runs(process, values);
            visit(process);
            return true;
        });
}

Result<void> describe_processes(DiffContext& context, const ThingTable& table,
                                std::span<ThingChange*> things) {
    for (std::size_t number = 0; number < context.dumps.size(); ++number) {
        std::vector<ThingChange*> here;
        std::vector<std::uint64_t> rows;
        for (ThingChange* change : things) {
            const auto& thing = table.things()[change->number];
            if (thing.last_dump == number) {
                here.push_back(change);
                rows.push_back(thing.place);
            }
        }
        if (here.empty()) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto found, lines_at(context.dumps[number], rows));
        for (std::size_t i = 0; i < here.size(); ++i) {
            const ProcessLine& line = found[i];
            ThingChange& change = *here[i];
            if (context.same_run) {
                const auto name = shown_name(line);
                change.title = change.key + (name ? " " + *name : "");
                change.add_detail("pid", line.pid);
                change.add_detail("registered_name", line.registered_name);
                change.add_detail("label", line.label);
                change.add_detail("process_name", line.process_name);
            }
            change.add_detail("initial_call", line.initial_call);
            change.add_detail("translated_initial_call", line.translated_initial_call);
            if (context.same_run) {
                change.add_detail("current_function", line.current_function);
                change.add_detail("status", line.status);
            }
        }
    }
    return {};
}

std::optional<std::string> name_in_key(const DiffContext& context, const std::string& key) {
    if (context.same_run) {
        return key;
    }
    return key.starts_with(kRegistered) ? std::optional(key.substr(kRegistered.size()))
                                        : std::nullopt;
}

}  // namespace beamdump::query
