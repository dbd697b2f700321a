#include "query/holders/node_binaries.h"

#include "query/memory/binary_records.h"
#include "query/process/process_binaries.h"
#include "query/tables/resource_types.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>

namespace beamdump::query {

namespace {

enum BinaryPlace : std::size_t {
    kAddress,
    kBytes,
    kReferences,
    kHolders,
    kCaptured,
    kResource,
    kPlaces
};

constexpr std::array<Column, kPlaces> kBinaryColumns = {{
    {.name = "address",
     .title = "address",
     .kind = ColumnKind::kAddress,
     .sentence = "Of its structure"},
    {.name = "size_bytes",
     .title = "size",
     .kind = ColumnKind::kBytes,
     .also = "size",
     .sentence = "In full"},
    {.name = "references",
     .title = "references",
     .kind = ColumnKind::kCount,
     .sentence = "The VM's count"},
    {.name = "holding_processes",
     .title = "processes",
     .kind = ColumnKind::kCount,
     .also = "processes",
     .sentence = "Processes that refer to it; absent for a crash dump",
     .late = true},
    {.name = "captured_bytes",
     .title = "captured",
     .kind = ColumnKind::kBytes,
     .also = "captured",
     .sentence = "Bytes of its content in the dump"},
    {.name = "resource",
     .sentence = "Of a NIF resource: its type, as module:name; absent for a crash dump"},
}};

/// An upper bound of what a row takes while its holders are counted.
constexpr std::uint64_t kRowMemory = kPlaces * sizeof(Cell) + 192;

Row row_of(const records::Binary& binary) {
    Row row(kPlaces);
    row[kAddress] = cell(std::uint64_t{binary.address()});
    set_if(row, kBytes, binary.has_size_bytes(), std::uint64_t{binary.size_bytes()});
    set_if(row, kReferences, binary.has_references(), std::uint64_t{binary.references()});
    row[kCaptured] = cell(captured_bytes(binary) + captured_part_bytes(binary));
    return row;
}

/// Counts the processes that refer to each of some binaries.
Result<ProcessesRead> count_holders(Dump& dump, const ReadProgress& progress,
                                    std::span<Row* const> rows) {
    std::unordered_map<std::uint64_t, std::uint64_t> holders;
    for (const Row* row : rows) {
        holders.emplace(std::get<std::uint64_t>((*row)[kAddress]), 0);
    }
    const auto count = [&](OpenedProcess& process) -> Result<void> {
        std::set<std::uint64_t> held;
        const auto visit = [&](std::uint64_t, std::uint64_t binary) {
            if (holders.contains(binary)) {
                held.insert(binary);
            }
        };
        RETURN_IF_ERROR(visit_off_heap_binaries(dump, process, OffHeapLists::kWithMagic, visit));
        for (const auto binary : held) {
            ++holders[binary];
        }
        return {};
    };
    // Which binaries a process refers to is no content of it.
    ASSIGN_OR_RETURN(const auto read,
                     visit_processes(dump, {.sensitive = true, .progress = progress}, count));
    for (Row* row : rows) {
        (*row)[kHolders] = cell(holders[std::get<std::uint64_t>((*row)[kAddress])]);
    }
    return read;
}

Result<NodeBinaries> list_binaries(Dump& dump, const RowQuery& query, const InputLimits& limits,
                                   const ReadProgress& progress) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kBinaryColumns, query));
    NodeBinaries answer{.list = std::move(list)};
    ASSIGN_OR_RETURN(const auto types, resource_type_names(dump));
    answer.may_lack_some =
        !form_of(dump).unreferenced_binaries && !dump.trailer().totals().has_binaries();
    Budget budget(limits);
    RETURN_IF_ERROR(
        visit_binaries(dump, limits, [&](const records::Binary& binary) -> Result<bool> {
            answer.total_bytes += binary.size_bytes();
            const auto before = answer.list.rows_in_memory();
            auto row = row_of(binary);
            if (const auto type = types.find(binary.resource_type_address()); type != types.end()) {
                row[kResource] = type->second;
            }
            answer.list.add(std::move(row));
            budget.use_memory((answer.list.rows_in_memory() - before) * kRowMemory);
            auto within = budget.check_memory();
            return within ? Result<bool>(!answer.list.is_full())
                          : std::unexpected(std::move(within.error()));
        }));
    RETURN_IF_ERROR(answer.list.derive([&](std::span<Row* const> rows) -> Result<void> {
        if (form_of(dump).off_heap_lists && !rows.empty()) {
            ASSIGN_OR_RETURN(answer.read, count_holders(dump, progress, rows));
        }
        return {};
    }));
    return answer;
}

}  // namespace

std::span<const Column> node_binary_columns() {
    return kBinaryColumns;
}

Result<NodeBinaries> node_binaries(Dump& dump, const RowQuery& query, const InputLimits& limits,
                                   const ReadProgress& progress) {
    auto answer = list_binaries(dump, query, limits, progress);
    return answer ? std::move(answer) : wrap("listing the binaries", std::move(answer.error()));
}

}  // namespace beamdump::query
