#include "query/memory/carriers.h"

#include "query/rows/fields.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace beamdump::query {
namespace {

CarrierLine line_of(const records::Carrier& record, const std::string& allocator) {
    CarrierLine line;
    line.allocator = allocator;
    line.instance = record.instance();
    line.address = record.address();
    line.bytes = record.bytes();
    line.single_block = record.single_block();
    line.pooled = record.pooled();
    line.mseg = record.mseg();
    line.blocks = record.blocks();
    line.block_bytes = record.block_bytes();
    if (record.has_free_blocks()) {
        line.free_blocks = record.free_blocks();
        line.largest_free_bytes = record.largest_free_bytes();
    }
    return line;
}

Cell allocator_instance(const CarrierLine& line) {
    return fmt::format("{}[{}]", line.allocator, line.instance);
}

Cell kind_text(const CarrierLine& line) {
    return fmt::format("{}{}{}", line.mseg ? "mseg" : "malloc",
                       line.single_block ? ", one block" : "", line.pooled ? ", pooled" : "");
}

constexpr auto kCarrierFields = std::to_array<Field<CarrierLine>>({
    computed<CarrierLine>(
        {.name = "allocator_instance", .title = "ALLOCATOR", .exported = false, .in_json = false},
        allocator_instance),
    field<&CarrierLine::allocator>({.name = "allocator",
                                    .kind = ColumnKind::kTextOfAll,
                                    .also = "name",
                                    .sentence = "eheap_alloc: by whose lists it was found"}),
    field<&CarrierLine::instance>({.name = "instance",
                                   .kind = ColumnKind::kId,
                                   .sentence = "Index of the instance that owns it"}),
    field<&CarrierLine::address>({.name = "address",
                                  .title = "CARRIER",
                                  .kind = ColumnKind::kAddress,
                                  .sentence = "Where it begins"}),
    field<&CarrierLine::bytes>(
        {.name = "bytes", .title = "BYTES", .kind = ColumnKind::kBytes, .sentence = "Its size"}),
    field<&CarrierLine::single_block>({.name = "single_block",
                                       .kind = ColumnKind::kFlag,
                                       .sentence = "It is for one large block"}),
    field<&CarrierLine::pooled>({.name = "pooled",
                                 .kind = ColumnKind::kFlag,
                                 .sentence = "Abandoned, for any instance to take over"}),
    field<&CarrierLine::mseg>(
        {.name = "mseg", .kind = ColumnKind::kFlag, .sentence = "From mseg_alloc, not malloc"}),
    field<&CarrierLine::blocks>({.name = "blocks",
                                 .title = "BLOCKS",
                                 .kind = ColumnKind::kCount,
                                 .sentence = "Blocks in use"}),
    field<&CarrierLine::block_bytes>({.name = "block_bytes",
                                      .title = "BYTES",
                                      .kind = ColumnKind::kBytes,
                                      .sentence = "Their size, headers included"}),
    computed<CarrierLine>({.name = "free_bytes",
                           .kind = ColumnKind::kBytes,
                           .also = "free",
                           .sentence = "Size less blocks"},
                          [](const CarrierLine& line) { return cell(line.free_bytes()); }),
    computed<CarrierLine>(
        {.name = "utilisation",
         .title = "USED",
         .kind = ColumnKind::kTenths,
         .sentence = "Blocks' share in tenths of a percent"},
        [](const CarrierLine& line) { return cell(utilisation(line.block_bytes, line.bytes)); }),
    computed<CarrierLine>({.name = "free_blocks",
                           .title = "FREE BLOCKS",
                           .kind = ColumnKind::kCount,
                           .sentence = "Free blocks; absent if they were not looked at"},
                          [](const CarrierLine& line) {
                              return line.single_block ? cell(std::uint64_t{0})
                                                       : cell(line.free_blocks);
                          }),
    field<&CarrierLine::largest_free_bytes>(
        {.name = "largest_free_bytes",
         .title = "LARGEST",
         .kind = ColumnKind::kBytesIfAny,
         .sentence = "Size of the largest; absent if they were not looked at"}),
    computed<CarrierLine>({.name = "kind", .title = "KIND", .exported = false, .in_json = false},
                          kind_text),
});
constexpr auto kCarrierColumns = columns_of(kCarrierFields);

}  // namespace

std::optional<std::uint64_t> utilisation(std::uint64_t used, std::uint64_t whole) {
    constexpr double kTenthsOfAPercent = 1000.0;
    if (whole == 0) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(static_cast<double>(used) * kTenthsOfAPercent /
                                      static_cast<double>(whole));
}

std::optional<FreeBlockSums> free_block_sums(const records::SystemMemory& system,
                                             const AllocatorNames& names) {
    std::optional<FreeBlockSums> sums;
    std::map<std::uint64_t, FreeBlockClass> sizes;
    for (const auto& record : system.free_blocks()) {
        if (!names.contains(record.allocator())) {
            continue;
        }
        auto& sum = sums ? *sums : sums.emplace();
        sum.carriers += record.carriers();
        sum.carrier_bytes += record.carrier_bytes();
        sum.read_carriers += record.read_carriers();
        sum.read_carrier_bytes += record.read_carrier_bytes();
        sum.changed_carriers += record.changed_carriers();
        sum.unreadable_carriers += record.unreadable_carriers();
        if (record.has_largest_bytes()) {
            sum.largest_bytes = std::max(sum.largest_bytes.value_or(0), record.largest_bytes());
        }
        for (const auto& found : record.sizes()) {
            auto& added = sizes[found.from_bytes()];
            added.from_bytes = found.from_bytes();
            added.count += found.count();
            added.bytes += found.bytes();
            sum.count += found.count();
            sum.bytes += found.bytes();
        }
    }
    for (const auto& [from, added] : sizes) {
        sums->sizes.push_back(added);
    }
    return sums;
}

std::span<const Column> carrier_columns() {
    return kCarrierColumns;
}

Result<RowList> list_carriers(Dump& dump, const AllocatorNames& names, const RowQuery& query,
                              const std::function<void(std::uint32_t allocator)>& visit) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kCarrierColumns, query));
    if (dump.trailer().carriers_offset().empty()) {
        return fail(ErrorCode::kNotFound,
                    "the dump has no carriers: it is a crash dump, was captured by an older "
                    "version, or they could not be read (the warnings of summary tell)");
    }
    for (const auto offset : dump.trailer().carriers_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::Carriers>(
                                              offset, format::RecordKind::kCarriers));
        for (const auto& record : page.carrier()) {
            const auto named = names.find(record.allocator());
            if (named == names.end()) {
                continue;
            }
            Row row = row_of(kCarrierFields, line_of(record, named->second));
            if (list.passes(row)) {
                visit(record.allocator());
            }
            list.add(std::move(row));
        }
    }
    return list;
}

}  // namespace beamdump::query
