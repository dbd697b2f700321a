#include "query/memory/allocators.h"

#include "query/tables/first_items.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace beamdump::query {

namespace {

/// By allocator, where the dump has them.
using AllocatorNames = std::map<std::uint32_t, std::string>;

/// The largest first, or by address.
enum class CarrierOrder : std::uint8_t { kBytes, kBlocks, kFree, kAddress };

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

/// What stands first is larger.
std::uint64_t amount(const CarrierLine& line, CarrierOrder order) {
    switch (order) {
        case CarrierOrder::kBytes:
            return line.bytes;
        case CarrierOrder::kBlocks:
            return line.block_bytes;
        case CarrierOrder::kFree:
            return line.free_bytes();
        case CarrierOrder::kAddress:
            break;
    }
    return 0;
}

/// Sums over the allocators that are named; nothing where the dump says nothing of them.
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

/// The first `limit` (0: all) carriers of the allocators that are named. kNotFound: the dump has no
/// carriers. Memory: of twice as many as the limit.
Result<CarrierListing> list_carriers(Dump& dump, const AllocatorNames& names, CarrierOrder order,
                                     std::uint64_t limit) {
    if (dump.trailer().carriers_offset().empty()) {
        return fail(ErrorCode::kNotFound,
                    "the dump has no carriers: it is a crash dump, was captured by an older "
                    "version, or they could not be read (the warnings of summary tell)");
    }
    const auto before = [order](const CarrierLine& one, const CarrierLine& other) {
        return std::tuple(amount(other, order), one.address) <
               std::tuple(amount(one, order), other.address);
    };
    FirstItems<CarrierLine, decltype(before)> first(limit, before);
    CarrierListing listing;
    for (const auto offset : dump.trailer().carriers_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::Carriers>(
                                              offset, format::RecordKind::kCarriers));
        for (const auto& record : page.carrier()) {
            if (const auto named = names.find(record.allocator()); named != names.end()) {
                first.add(line_of(record, named->second));
                ++listing.matching;
            }
        }
    }
    listing.lines = first.take();
    return listing;
}

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

void sort_lines(std::vector<AllocatorLine>& lines, AllocatorSort sort) {
    switch (sort) {
        case AllocatorSort::kBytes:
            std::ranges::stable_sort(lines, std::greater(), &AllocatorLine::carrier_bytes);
            break;
        case AllocatorSort::kBlocks:
            std::ranges::stable_sort(lines, std::greater(), &AllocatorLine::block_bytes);
            break;
        case AllocatorSort::kFree:
            std::ranges::stable_sort(lines, std::greater(), &AllocatorLine::free_bytes);
            break;
        case AllocatorSort::kName:
            std::ranges::stable_sort(lines, std::less(), &AllocatorLine::name);
            break;
    }
}

CarrierOrder carrier_order(AllocatorSort sort) {
    switch (sort) {
        case AllocatorSort::kBytes:
            return CarrierOrder::kBytes;
        case AllocatorSort::kBlocks:
            return CarrierOrder::kBlocks;
        case AllocatorSort::kFree:
            return CarrierOrder::kFree;
        case AllocatorSort::kName:
            break;
    }
    return CarrierOrder::kAddress;
}

/// Those whose name contains a text.
AllocatorNames matching_names(const NodeMemory& memory, std::string_view text) {
    AllocatorNames names;
    for (const auto& instance : memory.allocators) {
        if (instance.name().find(text) != std::string::npos) {
            names.emplace(instance.number(), instance.name());
        }
    }
    return names;
}

template <typename Value>
std::optional<std::uint64_t> known(bool has, Value value) {
    return has ? std::optional<std::uint64_t>(value) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> utilisation(std::uint64_t used, std::uint64_t whole) {
    constexpr double kTenthsOfAPercent = 1000.0;
    if (whole == 0) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(static_cast<double>(used) * kTenthsOfAPercent /
                                      static_cast<double>(whole));
}

std::optional<std::uint64_t> AllocatorLine::utilisation() const {
    return query::utilisation(block_bytes, carrier_bytes);
}

Result<AllocatorSort> parse_allocator_sort(std::string_view name) {
    struct Named {
        std::string_view name;
        AllocatorSort sort;
    };
    constexpr std::array kSorts = {
        Named{"bytes", AllocatorSort::kBytes}, Named{"blocks", AllocatorSort::kBlocks},
        Named{"free", AllocatorSort::kFree}, Named{"name", AllocatorSort::kName}};
    const auto* found = std::ranges::find(kSorts, name, &Named::name);
    if (found == kSorts.end()) {
        return fail(ErrorCode::kUsage,
                    fmt::format("cannot sort by \"{}\": bytes, blocks, free or name", name));
    }
    return found->sort;
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
            line.resident_bytes = known(own->has_resident_bytes(), own->resident_bytes());
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

Result<Allocators> allocators(Dump& dump, const std::string& file, const AllocatorsQuery& query) {
    ASSIGN_OR_RETURN(const auto memory, node_memory(dump));
    if (memory.allocators.empty()) {
        if (is_of_crash_dump(dump)) {
            return fail(ErrorCode::kNotFound,
                        dump.capture().has_cut_off()
                            ? "the crash dump breaks off before its sections of allocators"
                            : "the crash dump has no sections of allocators");
        }
        return fail(ErrorCode::kNotFound, file +
                                              " has no allocators: it was made by an older "
                                              "beamdump-capture, or a warning of the capture "
                                              "says why (see summary)");
    }
    Allocators answer;
    answer.dump = dump_facts(dump, file);
    answer.lines = allocator_lines(memory, query.instances);
    std::erase_if(answer.lines, [&](const AllocatorLine& line) {
        return line.name.find(query.name) == std::string::npos;
    });
    sort_lines(answer.lines, query.sort);
    answer.total.name = "total";
    for (const auto& line : answer.lines) {
        add(line, answer.total);
    }
    if (answer.total.pooled_carriers != 0) {
        answer.total.mseg_bytes.reset();
    }
    answer.matching = answer.lines.size();
    const auto names = matching_names(memory, query.name);
    answer.free_blocks = free_block_sums(memory.system, names);
    if (query.carriers) {
        ASSIGN_OR_RETURN(answer.carriers,
                         list_carriers(dump, names, carrier_order(query.sort), query.limit));
    } else if (query.limit != 0 && answer.matching > query.limit) {
        answer.lines.resize(query.limit);
    }
    answer.fixed_sizes = fixed_sizes(memory);
    const auto& system = memory.system;
    const auto& cache = system.segment_cache();
    answer.cached_segments = known(cache.has_segments(), cache.segments());
    answer.cached_bytes = known(cache.has_bytes(), cache.bytes());
    answer.cached_resident_bytes = known(cache.has_resident_bytes(), cache.resident_bytes());
    const auto& mapper = system.default_mapper();
    answer.os_bytes = known(mapper.has_os_bytes(), mapper.os_bytes());
    answer.super_carrier_bytes =
        known(mapper.has_super_carrier_bytes(), mapper.super_carrier_bytes());
    answer.super_carrier_used_bytes =
        known(mapper.has_super_carrier_used_bytes(), mapper.super_carrier_used_bytes());
    return answer;
}

}  // namespace beamdump::query
