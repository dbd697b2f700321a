#include "query/diff/process_keys.h"
#include "query/rows/process_columns.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace beamdump::query {

namespace {

/// All processes are read for this, so only where binaries grew by this part of themselves.
constexpr std::uint64_t kLeastGrowth = 20;  // a twentieth
constexpr std::uint64_t kRowsAtATime = 65'536;

bool binaries_grew(const DiffContext& context) {
    std::optional<std::uint64_t> first;
    std::optional<std::uint64_t> last;
    for (const ComparedDump& dump : context.dumps) {
        // An export does not tell who refers to a binary.
        if (dump.exported != nullptr) {
            continue;
        }
        const auto& totals = dump.dump->trailer().totals();
        if (totals.has_binary_bytes() && !dump.of_crash_dump) {
            first = first ? first : totals.binary_bytes();
            last = totals.binary_bytes();
        }
    }
    return first && *last > *first && *last - *first > *first / kLeastGrowth;
}

/// Binaries that a process refers to, each once for it.
Result<void> read_holders(DiffContext& context, std::size_t number, ThingTable& table) {
    ComparedDump& dump = context.dumps[number];
    if (dump.exported != nullptr || dump.of_crash_dump || !binaries_grew(context)) {
        return {};
    }
    ColumnChoice choice;
    choice.add(ProcessColumn::kBinaries);
    ProcessColumns columns(*dump.dump, choice, context.options.progress);
    const std::uint64_t total = dump.dump->processes().size();
    for (std::uint64_t first = 0; first < total; first += kRowsAtATime) {
        std::vector<std::uint64_t> rows(std::min(kRowsAtATime, total - first));
        std::iota(rows.begin(), rows.end(), first);
        RETURN_IF_ERROR(columns.read_processes(rows));
    }
    table.begin(number, dump.whole);
    return each_keyed_process(context, number, [&](const KeyedProcess& process) {
        ProcessLine line;
        columns.fill(process.owner, line);
        // Of a process whose copy is void it is not known what it refers to.
        if (line.binary_references != 0) {
            table.add(process.key, {.size = line.binary_bytes,
                                    .count = line.binary_references,
                                    .identity = process.identity,
                                    .place = process.row});
        }
    });
}

constexpr DiffSource kHolderSource = {
    .kind = {.name = "binary_holders",
             .title = "Binaries by the process that refers to them",
             .thing = "PROCESS",
             .size = "bytes",
             .count = "references",
             .ranked = true},
    .read = read_holders,
    .describe = describe_processes,
};

}  // namespace

const DiffSource& binary_holders_diff_source() {
    return kHolderSource;
}

}  // namespace beamdump::query
