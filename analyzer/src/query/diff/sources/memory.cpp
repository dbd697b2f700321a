#include "query/memory/memory.h"

#include "query/diff/diff_source.h"
#include "query/diff/process_keys.h"
#include "query/exported/exported_things.h"
#include "query/memory/binary_records.h"
#include "query/processes/process_values.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <string>
#include <vector>

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
        table.add("resident", {.size = found.resident_bytes});
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
        if (totals.has_binary_bytes() && dump.form.unreferenced_binaries) {
            first = first ? first : totals.binary_bytes();
            last = totals.binary_bytes();
        }
    }
    return first && *last > *first && *last - *first > *first / kLeastGrowth;
}

/// Binaries that a process refers to, each once for it.
Result<void> read_holders(DiffContext& context, std::size_t number, ThingTable& table) {
    ComparedDump& dump = context.dumps[number];
    if (dump.exported != nullptr || !dump.form.off_heap_lists || !binaries_grew(context)) {
        return {};
    }
    ColumnChoice choice;
    choice.add(ProcessColumn::kBinaries);
    ProcessValues columns(*dump.dump, choice, context.options.progress);
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
        // What a process whose copy is void refers to is not known.
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

namespace {

/// Addresses are used again, so a binary is not found in another dump: sizes are compared, in
/// classes from one power of two to the next.
std::string class_text(std::size_t bits) {
    return bits == 0 ? "empty"
                     : fmt::format("{} to {}", bytes_text(1ULL << (bits - 1)),
                                   bits == 64 ? "all" : bytes_text(1ULL << bits));
}

/// An export lists them with --detail stacks.
bool has_binaries(const ComparedDump& dump) {
    return dump.exported != nullptr
               ? dump.exported->fact("binaries") == dump.exported->count(binary_kind())
               : dump.dump->trailer().totals().has_binaries();
}

Result<void> read_binaries(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    // A crash dump has only the binaries that terms in it refer to, read or not.
    if (!dump.whole || !dump.form.unreferenced_binaries || !has_binaries(dump)) {
        return {};
    }
    std::array<Amounts, 65> classes{};
    for (Amounts& amounts : classes) {
        amounts = {.size = 0, .members = 0};
    }
    const auto add = [&classes](std::uint64_t bytes) {
        Amounts& amounts = classes.at(static_cast<std::size_t>(std::bit_width(bytes)));
        *amounts.size += bytes;
        ++amounts.members;
    };
    if (dump.exported != nullptr) {
        RETURN_IF_ERROR(dump.exported->visit(binary_kind(), [&add](const ExportLine& line) {
            add(line.number("size_bytes").value_or(0));
        }));
    } else {
        RETURN_IF_ERROR(visit_binaries(*dump.dump, context.options.limits,
                                       [&add](const records::Binary& binary) -> Result<bool> {
                                           add(binary.size_bytes());
                                           return true;
                                       }));
    }
    table.begin(number);
    for (std::size_t bits = 0; bits < classes.size(); ++bits) {
        if (classes.at(bits).members != 0) {
            table.add(class_text(bits), classes.at(bits));
        }
    }
    return {};
}

constexpr DiffSource kBinarySource = {
    .kind = {.name = "binaries",
             .title = "Reference-counted binaries by size",
             .thing = "SIZE OF EACH",
             .size = "bytes",
             .members = "binaries",
             .ranked = true},
    .read = read_binaries,
};

}  // namespace

const DiffSource& binaries_diff_source() {
    return kBinarySource;
}

}  // namespace beamdump::query
