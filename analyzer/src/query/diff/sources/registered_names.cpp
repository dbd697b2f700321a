#include "query/diff/diff_source.h"
#include "query/diff/process_keys.h"
#include "query/exported/exported_things.h"
#include "query/node/process_line.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace beamdump::query {

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

}  // namespace beamdump::query
