#include "query/memory/allocators.h"

#include "query/rows/fields.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace beamdump::query {
namespace {

void add_carriers(const records::AllocatorCarriers& from, AllocatorLine& to) {
    to.carriers += from.carriers();
    to.carrier_bytes += from.carrier_bytes();
    for (const auto& blocks : from.blocks()) {
        to.blocks += blocks.count();
        to.block_bytes += blocks.bytes();
    }
}

void add(const records::AllocatorInstance& from, AllocatorLine& to) {
    add_carriers(from.multi_block(), to);
    add_carriers(from.single_block(), to);
    add_carriers(from.pool(), to);
    to.single_block_carriers += from.single_block().carriers();
    to.single_block_bytes += from.single_block().carrier_bytes();
    to.pooled_carriers += from.pool().carriers();
    to.pooled_bytes += from.pool().carrier_bytes();
    to.mseg_bytes = to.mseg_bytes.value_or(0) + from.multi_block().mseg_bytes() +
                    from.single_block().mseg_bytes();
    if (from.has_delayed_blocks()) {
        to.delayed_blocks = to.delayed_blocks.value_or(0) + from.delayed_blocks();
        to.delayed_bytes = to.delayed_bytes.value_or(0) + from.delayed_bytes();
    }
}

void add(const AllocatorLine& from, AllocatorLine& to) {
    to.carriers += from.carriers;
    to.carrier_bytes += from.carrier_bytes;
    to.single_block_carriers += from.single_block_carriers;
    to.single_block_bytes += from.single_block_bytes;
    to.pooled_carriers += from.pooled_carriers;
    to.pooled_bytes += from.pooled_bytes;
    to.blocks += from.blocks;
    to.block_bytes += from.block_bytes;
    if (from.mseg_bytes) {
        to.mseg_bytes = to.mseg_bytes.value_or(0) + *from.mseg_bytes;
    }
    if (from.delayed_blocks) {
        to.delayed_blocks = to.delayed_blocks.value_or(0) + *from.delayed_blocks;
        to.delayed_bytes = to.delayed_bytes.value_or(0) + from.delayed_bytes.value_or(0);
    }
    if (from.resident_bytes) {
        to.resident_bytes = to.resident_bytes.value_or(0) + *from.resident_bytes;
    }
}

std::vector<FixedSizeLine> fixed_sizes(const NodeMemory& memory) {
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> sums;
    for (const auto& instance : memory.allocators) {
        for (const auto& type : instance.fixed_size()) {
            sums[type.name()].first += type.allocated_bytes();
            sums[type.name()].second += type.used_bytes();
        }
    }
    std::vector<FixedSizeLine> lines;
    for (const auto& [name, sum] : sums) {
        if (sum.first > 0) {
            lines.push_back({name, static_cast<std::uint64_t>(sum.first),
                             static_cast<std::uint64_t>(std::max<std::int64_t>(sum.second, 0))});
        }
    }
    std::ranges::stable_sort(lines, std::greater(), &FixedSizeLine::allocated_bytes);
    return lines;
}

template <typename Value>
std::optional<std::uint64_t> known_if(bool has, Value value) {
    return has ? std::optional<std::uint64_t>(value) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> AllocatorLine::utilisation() const {
    return query::utilisation(block_bytes, carrier_bytes);
}

namespace {

constexpr auto kAllocatorFields = std::to_array<Field<AllocatorLine>>({
    computed<AllocatorLine>(
        {.name = "allocator", .title = "ALLOCATOR", .exported = false, .in_json = false},
        [](const AllocatorLine& line) -> Cell {
            return line.instance ? fmt::format("{}[{}]", line.name, *line.instance) : line.name;
        }),
    field<&AllocatorLine::name>(
        {.name = "name", .kind = ColumnKind::kTextOfAll, .sentence = "eheap_alloc"}),
    field<&AllocatorLine::instance>(
        {.name = "instance",
         .kind = ColumnKind::kId,
         .sentence = "Of one instance: its index; 0 serves all threads that are no schedulers",
         .exported = false}),
    field<&AllocatorLine::instances>(
        {.name = "instances",
         .kind = ColumnKind::kCountIfAny,
         .sentence = "Of a sum: how many instances the allocator has"}),
    field<&AllocatorLine::carriers>({.name = "carriers",
                                     .title = "CARRIERS",
                                     .kind = ColumnKind::kCount,
                                     .sentence = "Carriers"}),
    field<&AllocatorLine::carrier_bytes>({.name = "carrier_bytes",
                                          .title = "BYTES",
                                          .kind = ColumnKind::kBytes,
                                          .also = "bytes",
                                          .sentence = "Their size"}),
    field<&AllocatorLine::single_block_carriers>(
        {.name = "single_block_carriers",
         .kind = ColumnKind::kCount,
         .sentence = "Of these: carriers of one large block"}),
    field<&AllocatorLine::single_block_bytes>(
        {.name = "single_block_bytes", .kind = ColumnKind::kBytes, .sentence = "Their size"}),
    field<&AllocatorLine::pooled_carriers>(
        {.name = "pooled_carriers",
         .kind = ColumnKind::kCount,
         .sentence = "Of carriers: abandoned, for any instance to take over"}),
    field<&AllocatorLine::pooled_bytes>({.name = "pooled_bytes",
                                         .title = "POOLED",
                                         .kind = ColumnKind::kBytes,
                                         .sentence = "Their size"}),
    field<&AllocatorLine::mseg_bytes>(
        {.name = "mseg_bytes",
         .kind = ColumnKind::kBytes,
         .sentence = "Of carrier_bytes: from mseg_alloc, not malloc; absent if some carriers are "
                     "pooled, and of them it is not known"}),
    field<&AllocatorLine::blocks>({.name = "blocks",
                                   .title = "BLOCKS",
                                   .kind = ColumnKind::kCount,
                                   .sentence = "Blocks in use"}),
    field<&AllocatorLine::block_bytes>({.name = "block_bytes",
                                        .title = "BYTES",
                                        .kind = ColumnKind::kBytes,
                                        .sentence = "Their size, headers included"}),
    field<&AllocatorLine::delayed_blocks>(
        {.name = "delayed_blocks",
         .kind = ColumnKind::kCountIfAny,
         .sentence = "Of these: given back by other threads, and not yet freed by the instance's "
                     "own thread; of each instance at most the first 10,000"}),
    field<&AllocatorLine::delayed_bytes>({.name = "delayed_bytes",
                                          .kind = ColumnKind::kBytesIfAny,
                                          .sentence = "Their size, headers included"}),
    computed<AllocatorLine>({.name = "free_bytes",
                             .kind = ColumnKind::kBytes,
                             .also = "free",
                             .sentence = "Carriers less blocks"},
                            [](const AllocatorLine& line) { return cell(line.free_bytes()); }),
    computed<AllocatorLine>(
        {.name = "utilisation",
         .title = "USED",
         .kind = ColumnKind::kTenths,
         .sentence =
             "Blocks' share of the carriers in tenths of a percent; absent without carriers"},
        [](const AllocatorLine& line) { return cell(line.utilisation()); }),
    field<&AllocatorLine::resident_bytes>(
        {.name = "resident_bytes",
         .title = "RESIDENT",
         .kind = ColumnKind::kBytes,
         .sentence =
             "Of a sum: what of the carriers is in memory; absent if the dump does not say"}),
});
constexpr auto kAllocatorColumns = columns_of(kAllocatorFields);

}  // namespace

std::span<const Column> allocator_columns() {
    return kAllocatorColumns;
}

std::vector<AllocatorLine> allocator_lines(const NodeMemory& memory, bool instances) {
    std::vector<AllocatorLine> lines;
    std::uint32_t last = 0;
    for (const auto& instance : memory.allocators) {
        const bool same = !lines.empty() && !instances && instance.number() == last;
        last = instance.number();
        auto& line = same ? lines.back() : lines.emplace_back();
        line.name = instance.name();
        add(instance, line);
        if (instances) {
            line.instance = instance.index();
        } else {
            line.instances = line.instances.value_or(0) + 1;
        }
        if (instances || same) {
            continue;
        }
        const auto& pages = memory.system.carriers();
        const auto own =
            std::ranges::find(pages, instance.number(), &records::CarrierPages::allocator);
        if (own != pages.end()) {
            line.resident_bytes = known_if(own->has_resident_bytes(), own->resident_bytes());
        }
    }
    // The pool does not count by whom its carriers were made.
    for (auto& line : lines) {
        if (line.pooled_carriers != 0) {
            line.mseg_bytes.reset();
        }
    }
    return lines;
}

namespace {

Result<NodeMemory> memory_with_allocators(Dump& dump) {
    ASSIGN_OR_RETURN(auto memory, node_memory(dump));
    if (!memory.allocators.empty()) {
        return memory;
    }
    return not_in_dump(dump, "allocators");
}

AllocatorNames allocator_names(const NodeMemory& memory) {
    AllocatorNames names;
    for (const auto& instance : memory.allocators) {
        names.emplace(instance.number(), instance.name());
    }
    return names;
}

/// Keeps those that `wanted` is true of.
template <typename Wanted>
void keep_names(AllocatorNames& names, const Wanted& wanted) {
    std::erase_if(names, [&wanted](const auto& allocator) { return !wanted(allocator); });
}

}  // namespace

Result<RowList> list_allocators(Dump& dump, const RowQuery& query) {
    ASSIGN_OR_RETURN(const auto memory, memory_with_allocators(dump));
    ASSIGN_OR_RETURN(auto list, RowList::make(kAllocatorColumns, query));
    for (const auto& line : allocator_lines(memory, false)) {
        list.add(row_of(kAllocatorFields, line));
    }
    return list;
}

Result<Allocators> allocators(Dump& dump, const AllocatorsQuery& query) {
    ASSIGN_OR_RETURN(const auto memory, memory_with_allocators(dump));
    auto names = allocator_names(memory);
    std::optional<RowList> carriers;
    RowQuery rows = query.rows;
    if (query.carriers) {
        std::set<std::uint32_t> with_carriers;
        ASSIGN_OR_RETURN(carriers, list_carriers(dump, names, rows, [&](std::uint32_t allocator) {
                             with_carriers.insert(allocator);
                         }));
        keep_names(names, [&](const auto& one) { return with_carriers.contains(one.first); });
        rows = {.sort = std::string(kAllocatorSort), .filters = {}, .limit = 0};
    }
    ASSIGN_OR_RETURN(auto list, RowList::make(kAllocatorColumns, rows));
    AllocatorLine total;
    total.name = "total";
    std::set<std::string> passing;
    for (const auto& line : allocator_lines(memory, query.instances)) {
        if (std::ranges::none_of(names,
                                 [&line](const auto& one) { return one.second == line.name; })) {
            continue;
        }
        Row row = row_of(kAllocatorFields, line);
        if (list.passes(row)) {
            add(line, total);
            passing.insert(line.name);
        }
        list.add(std::move(row));
    }
    if (total.pooled_carriers != 0) {
        total.mseg_bytes.reset();
    }
    keep_names(names, [&](const auto& one) { return passing.contains(one.second); });
    Allocators answer{.lines = std::move(list),
                      .total = row_of(kAllocatorFields, total),
                      .free_blocks = free_block_sums(memory.system, names),
                      .carriers = std::move(carriers),
                      .fixed_sizes = fixed_sizes(memory)};
    const auto& system = memory.system;
    const auto& cache = system.segment_cache();
    answer.cached_segments = known_if(cache.has_segments(), cache.segments());
    answer.cached_bytes = known_if(cache.has_bytes(), cache.bytes());
    answer.cached_resident_bytes = known_if(cache.has_resident_bytes(), cache.resident_bytes());
    const auto& mapper = system.default_mapper();
    answer.os_bytes = known_if(mapper.has_os_bytes(), mapper.os_bytes());
    answer.super_carrier_bytes =
        known_if(mapper.has_super_carrier_bytes(), mapper.super_carrier_bytes());
    answer.super_carrier_used_bytes =
        known_if(mapper.has_super_carrier_used_bytes(), mapper.super_carrier_used_bytes());
    return answer;
}

}  // namespace beamdump::query
