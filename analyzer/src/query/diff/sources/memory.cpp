#include "query/memory/memory.h"

#include "query/diff/diff_source.h"
#include "query/exported/exported_things.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::query {

namespace {

/// erlang:memory/0's categories, and what the operating system counts of the process.
Result<void> read_memory(DiffContext& context, std::size_t number, ThingTable& table) {
    ComparedDump& dump = context.dumps[number];
    Memory found;
    if (dump.exported != nullptr) {
        ASSIGN_OR_RETURN(found.categories, exported_memory(*dump.exported));
        found.resident_bytes = dump.exported->fact("resident_bytes");
    } else {
        ASSIGN_OR_RETURN(found, memory(*dump.dump, dump.facts.file,
                                       {.limit = 1, .limits = context.options.limits}));
    }
    if (found.categories.empty() && !found.resident_bytes) {
        return {};
    }
    // A category that is not told is not 0.
    table.begin(number, false);
    for (const auto& [category, bytes] : found.categories) {
        table.add(category, {.size = bytes});
    }
    if (found.resident_bytes) {
        table.add("resident", {.size = *found.resident_bytes});
    }
    return {};
}

constexpr DiffSource kMemorySource = {
    .kind = {.name = "memory", .title = "Memory by category", .thing = "CATEGORY", .size = "bytes"},
    .read = read_memory,
};

}  // namespace

const DiffSource& memory_diff_source() {
    return kMemorySource;
}

}  // namespace beamdump::query
