#include "query/holders/binaries.h"

#include "query/node/choice.h"
#include "query/process/process_binaries.h"
#include "query/tables/first_items.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/scratch_space.h>
#include <libdump/heap/address_marks.h>
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

/// Offsets of all Binaries records, each once, the last one first.
Result<std::vector<std::uint64_t>> binary_records(Dump& dump) {
    std::set<std::uint64_t> offsets;
    if (const RecoveredIndex* recovered = dump.reader().recovered()) {
        for (const auto& place : recovered->binaries) {
            offsets.insert(place.record_offset);
        }
    }
    for (const auto& ref : dump.trailer().binary_pages()) {
        auto page = dump.reader().message_at<records::BinaryIndexPage>(
            ref.offset(), format::RecordKind::kBinaryIndexPage);
        if (!page) {
            return wrap("reading the index of binaries", std::move(page.error()));
        }
        offsets.insert(page->record_offset().begin(), page->record_offset().end());
    }
    return std::vector<std::uint64_t>(offsets.rbegin(), offsets.rend());
}

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
    ScratchSpace space({.max_memory_bytes = options.limits.memory,
                        .max_file_bytes = options.limits.temporary_bytes()});
    AddressMarks seen(&space);
    FirstItems<NodeBinaryLine, std::function<bool(const NodeBinaryLine&, const NodeBinaryLine&)>>
        first(options.limit, [sort = options.sort](const auto& a, const auto& b) {
            return binary_before(sort, a, b);
        });
    ASSIGN_OR_RETURN(const auto offsets, binary_records(dump));
    for (const std::uint64_t offset : offsets) {
        auto record =
            dump.reader().message_at<records::Binaries>(offset, format::RecordKind::kBinaries);
        if (!record) {
            return wrap("reading binaries", std::move(record.error()));
        }
        // Of several records of one address the last is valid.
        for (int i = record->binary_size(); i-- > 0;) {
            const records::Binary& binary = record->binary(i);
            ASSIGN_OR_RETURN(const bool is_new, seen.add(binary.address()));
            if (!is_new) {
                continue;
            }
            ++answer.total;
            answer.total_bytes += binary.size_bytes();
            NodeBinaryLine line{binary.address(), binary.size_bytes(), std::nullopt,
                                captured_bytes(binary), std::nullopt};
            if (binary.has_references()) {
                line.references = binary.references();
            }
            first.add(line);
        }
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
