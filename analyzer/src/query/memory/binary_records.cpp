#include "query/memory/binary_records.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/scratch_space.h>
#include <libdump/heap/address_marks.h>

#include <set>
#include <utility>
#include <vector>

namespace beamdump::query {

namespace {

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

}  // namespace

Result<void> visit_binaries(Dump& dump, const InputLimits& limits,
                            const std::function<Result<bool>(const records::Binary&)>& visit) {
    ScratchSpace space(
        {.max_memory_bytes = limits.memory, .max_file_bytes = limits.temporary_bytes()});
    AddressMarks seen(&space);
    ASSIGN_OR_RETURN(const auto offsets, binary_records(dump));
    for (const std::uint64_t offset : offsets) {
        auto record =
            dump.reader().message_at<records::Binaries>(offset, format::RecordKind::kBinaries);
        if (!record) {
            return wrap("reading binaries", std::move(record.error()));
        }
        // The last of several records of one address is valid.
        for (int i = record->binary_size(); i-- > 0;) {
            const records::Binary& binary = record->binary(i);
            ASSIGN_OR_RETURN(const bool is_new, seen.add(binary.address()));
            if (is_new) {
                ASSIGN_OR_RETURN(const bool goes_on, visit(binary));
                if (!goes_on) {
                    return {};
                }
            }
        }
    }
    return {};
}

}  // namespace beamdump::query
