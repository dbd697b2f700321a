#include "query/diff/process_keys.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::query {

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

}  // namespace beamdump::query
