#include "query/diff/process_keys.h"

#include <libdump/base/return_if_error.h>

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

}  // namespace beamdump::query
