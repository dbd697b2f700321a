#include "query/holders/binaries.h"

#include "query/holders/binary_records.h"
#include "query/node/choice.h"
#include "query/process/process_binaries.h"
#include "query/tables/first_items.h"

#include <libdump/base/budget.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <tuple>
#include <unordered_map>

namespace beamdump::query {

namespace {

constexpr std::array<Named<BinarySort>, 2> kBinarySorts = {
    {{"size", BinarySort::kSize}, {"references", BinarySort::kReferences}}};

bool binary_before(BinarySort sort, const NodeBinaryLine& a, const NodeBinaryLine& b) {
    return sort == BinarySort::kSize ? std::tie(b.bytes, a.address) < std::tie(a.bytes, b.address)
                                     : std::tie(b.references, b.bytes, a.address) <
                                           std::tie(a.references, a.bytes, b.address);
}

/// An upper bound of what a line takes while its holders are counted.
constexpr std::uint64_t kBinaryLineMemory = 2 * sizeof(NodeBinaryLine) + 96;

/// Counts the processes that refer to each of some binaries.
Result<ProcessesRead> count_holders(Dump& dump, const BinariesOptions& options,
                                    std::vector<NodeBinaryLine>& lines) {
    std::unordered_map<std::uint64_t, NodeBinaryLine*> by_address;
    for (NodeBinaryLine& line : lines) {
        line.holders = 0;
        by_address[line.address] = &line;
    }
    const auto count = [&](OpenedProcess& process) -> Result<void> {
        std::set<NodeBinaryLine*> held;
        const auto visit = [&](std::uint64_t, std::uint64_t binary) {
            if (const auto known = by_address.find(binary); known != by_address.end()) {
                held.insert(known->second);
            }
        };
        RETURN_IF_ERROR(visit_off_heap_binaries(dump, process, OffHeapLists::kAll, visit));
        for (NodeBinaryLine* line : held) {
            *line->holders += 1;
        }
        return {};
    };
    // Which binaries a process refers to is no content of it.
    return visit_processes(dump, {.sensitive = true, .progress = options.progress}, count);
}

Result<NodeBinaries> list_binaries(Dump& dump, const std::string& file,
                                   const BinariesOptions& options) {
    NodeBinaries answer;
    answer.dump = dump_facts(dump, file);
    answer.may_lack_some = is_of_crash_dump(dump) && !dump.trailer().totals().has_binaries();
    Budget budget(options.limits);
    FirstItems<NodeBinaryLine, std::function<bool(const NodeBinaryLine&, const NodeBinaryLine&)>>
        first(options.limit, [sort = options.sort](const auto& a, const auto& b) {
            return binary_before(sort, a, b);
        });
    bool references_told = false;
    RETURN_IF_ERROR(
        visit_binaries(dump, options.limits, [&](const records::Binary& binary) -> Result<void> {
            ++answer.total;
            answer.total_bytes += binary.size_bytes();
            if (binary.size_bytes() < options.at_least) {
                return {};
            }
            NodeBinaryLine line{
                binary.address(),
                binary.has_size_bytes() ? std::optional(binary.size_bytes()) : std::nullopt,
                std::nullopt, captured_bytes(binary), std::nullopt};
            if (binary.has_references()) {
                line.references = binary.references();
                references_told = true;
            }
            first.add(line);
            ++answer.matching;
            if (options.limit == 0 || answer.matching / 2 < options.limit) {
                budget.use_memory(kBinaryLineMemory);
            }
            return budget.check_memory();
        }));
    if (options.sort == BinarySort::kReferences && answer.matching != 0 && !references_told) {
        return fail(ErrorCode::kNotFound,
                    "they cannot be sorted by references: the dump does not tell them of any");
    }
    answer.binaries = first.take();
    if (!is_of_crash_dump(dump) && !answer.binaries.empty()) {
        ASSIGN_OR_RETURN(answer.read, count_holders(dump, options, answer.binaries));
    }
    return answer;
}

}  // namespace

Result<BinarySort> parse_binary_sort(std::string_view name) {
    return parse_choice("sort order", name, kBinarySorts);
}

Result<NodeBinaries> node_binaries(Dump& dump, const std::string& file,
                                   const BinariesOptions& options) {
    auto answer = list_binaries(dump, file, options);
    return answer ? std::move(answer) : wrap("listing the binaries", std::move(answer.error()));
}

}  // namespace beamdump::query
