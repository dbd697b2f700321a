#include <libdump/base/return_if_error.h>
#include <libvm/beam/allocators/allocators.h>
#include <libvm/beam/allocators/block_header.h>
#include <libvm/beam/layout/runtime_names.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace beamdump::beam {
namespace {

/// The bytes of name_prefix: "eheap_", at most.
constexpr std::size_t kMaxPrefixBytes = 24;
/// erl_alloc_util.h: carriers are counted by where they came from, mseg_alloc before malloc.
constexpr std::size_t kMsegCarriers = 0;
constexpr std::size_t kSystemCarriers = 1;

/// A type that is there from OTP 25 on.
constexpr std::string_view kQueueBuffers = "process_signal_queue_buffers";

/// The types of fix_alloc in the order of erl_alloc.types, by the names that
/// erlang:system_info({allocator, fix_alloc}) has for them (OTP 24 to 29).
constexpr std::array<std::string_view, 15> kFixedSizeNames = {"proc",
                                                              "receive_marker_block",
                                                              "msg_ref",
                                                              "ll_ptimer",
                                                              "hl_ptimer",
                                                              "bif_timer",
                                                              "nsched_magic_ref_entry",
                                                              "nsched_pid_ref_entry",
                                                              "magic_indirection",
                                                              kQueueBuffers,
                                                              "sl_thr_q_element",
                                                              "monitor",
                                                              "link",
                                                              "driver_select_data_state",
                                                              "enif_select_data_state"};

Field at(Field array, std::size_t index, std::uint32_t each, Field field) {
    return {static_cast<std::uint32_t>(array.offset + index * each + field.offset), field.bytes};
}

/// Whether the layout's arrays of counters have an element for each allocator; else elements would
/// be read beyond them.
Result<void> check_arrays(const AllocatorTableFields& tables, const AllocatorFields& fields) {
    const std::array<std::pair<Field, std::uint64_t>, 6> arrays = {
        {{fields.single_carriers, (kSystemCarriers + 1) * std::uint64_t{fields.count_bytes}},
         {fields.multi_carriers, (kSystemCarriers + 1) * std::uint64_t{fields.count_bytes}},
         {fields.single_blocks, tables.last * fields.stats_bytes},
         {fields.multi_blocks, tables.last * fields.stats_bytes},
         {fields.pool_blocks, tables.last * sizeof(std::uint64_t)},
         {fields.pool_block_bytes, tables.last * sizeof(std::uint64_t)}}};
    for (const auto& [array, needed] : arrays) {
        if (tables.last > array.bytes || needed > array.bytes) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("the layout of an allocator's counters: expected arrays for {} "
                                    "allocators, {} bytes, found {} bytes",
                                    tables.last, needed, array.bytes));
        }
    }
    return {};
}

std::unexpected<Error> no_counter(std::string_view what, std::uint64_t value) {
    return fail(ErrorCode::kImplausible,
                fmt::format("expected an amount of memory as {}, found {:#x}", what, value));
}

}  // namespace

AllocatorTableFields::AllocatorTableFields(LayoutNames& names)
    : is_util(names.field(runtime::ErtsAllocatorInfo::alloc_util)),
      enabled(names.field(runtime::ErtsAllocatorInfo::enabled)),
      thread_specific(names.field(runtime::ErtsAllocatorInfo::thr_spec)),
      extra(names.field(runtime::ErtsAllocatorInfo::extra)),
      spec_enabled(names.field(runtime::ErtsAllocatorThrSpec::enabled)),
      spec_size(names.field(runtime::ErtsAllocatorThrSpec::size)),
      spec_instances(names.field(runtime::ErtsAllocatorThrSpec::allctr)),
      info_bytes(names.bytes(runtime::ErtsAllocatorInfo::kName)),
      spec_bytes(names.bytes(runtime::ErtsAllocatorThrSpec::kName)),
      last(names.constant(runtime::constant::allocator_last)) {}

AllocatorFields::AllocatorFields(LayoutNames& names)
    : name_prefix(names.field(runtime::Allctr::name_prefix)),
      number(names.field(runtime::Allctr::alloc_no)),
      index(names.field(runtime::Allctr::ix)),
      multi_list(names.field(runtime::Allctr::mbc_list_first)),
      single_list(names.field(runtime::Allctr::sbc_list_first)),
      deallocated_list(names.field(runtime::Allctr::cpool_dc_list_first)),
      pool_sentinel(names.field(runtime::Allctr::cpool_sentinel)),
      pool_limit(names.field(runtime::Allctr::cpool_util_limit)),
      pool_block_bytes(names.field(runtime::Allctr::cpool_stat_blocks_size)),
      pool_blocks(names.field(runtime::Allctr::cpool_stat_no_blocks)),
      pool_carrier_bytes(names.field(runtime::Allctr::cpool_stat_carriers_size)),
      pool_carriers(names.field(runtime::Allctr::cpool_stat_no_carriers)),
      literal_mapper(names.field(runtime::Allctr::mseg_mmapper)),
      fix(names.field(runtime::Allctr::fix)),
      carrier_header_bytes(names.field(runtime::Allctr::mbc_header_size)),
      single_carriers(names.field(runtime::Allctr::sbcs_carriers)),
      single_blocks(names.field(runtime::Allctr::sbcs_blocks)),
      multi_carriers(names.field(runtime::Allctr::mbcs_carriers)),
      multi_blocks(names.field(runtime::Allctr::mbcs_blocks)),
      count(names.field(runtime::AllctrCount::no)),
      size(names.field(runtime::AllctrCount::size)),
      block_count(names.field(runtime::AllctrBlockStats::curr_no)),
      block_bytes(names.field(runtime::AllctrBlockStats::curr_size)),
      type_bytes(names.field(runtime::ErtsAlcFixList::type_size)),
      pool_allocated(names.field(runtime::ErtsAlcFixList::u_cpool_allocated)),
      pool_used(names.field(runtime::ErtsAlcFixList::u_cpool_used)),
      plain_allocated(names.field(runtime::ErtsAlcFixList::u_nocpool_allocated)),
      plain_used(names.field(runtime::ErtsAlcFixList::u_nocpool_used)),
      delayed_first(names.field(runtime::Allctr::dd_q_head_first)),
      bytes(names.bytes(runtime::Allctr::kName)),
      count_bytes(names.bytes(runtime::AllctrCount::kName)),
      stats_bytes(names.bytes(runtime::AllctrBlockStats::kName)),
      fix_bytes(names.bytes(runtime::ErtsAlcFixList::kName)),
      fix_count(names.constant(runtime::constant::fix_count)),
      has_queue_buffers(names.has_structure(runtime::ErtsSignalInQueueBuffer::kName)) {}

CarrierFields::CarrierFields(LayoutNames& names)
    : header(names.field(runtime::Carrier::chdr)),
      next(names.field(runtime::Carrier::next)),
      owner(names.field(runtime::Carrier::allctr)),
      pool(names.field(runtime::Carrier::cpool)),
      pool_next(names.field(runtime::CarrierPoolData::next)),
      blocks(names.field(runtime::CarrierPoolData::blocks)),
      block_bytes(names.field(runtime::CarrierPoolData::blocks_size)),
      all_block_bytes(names.field(runtime::CarrierPoolData::total_blocks_size)),
      bytes(names.bytes(runtime::Carrier::kName)) {}

SegmentFields::SegmentFields(LayoutNames& names)
    : index(names.field(runtime::ErtsMsegAllctr::ix)),
      initialised(names.field(runtime::ErtsMsegAllctr::is_init_done)),
      cache_size(names.field(runtime::ErtsMsegAllctr::cache_size)),
      max_cache_size(names.field(runtime::ErtsMsegAllctr::max_cache_size)),
      unpowered(names.field(runtime::ErtsMsegAllctr::cache_unpowered_node)),
      powered(names.field(runtime::ErtsMsegAllctr::cache_powered_node)),
      entry_size(names.field(runtime::MsegCacheEntry::size)),
      entry_segment(names.field(runtime::MsegCacheEntry::seg)),
      entry_next(names.field(runtime::MsegCacheEntry::next)),
      super_carrier(names.field(runtime::ErtsMemMapper::supercarrier)),
      no_os(names.field(runtime::ErtsMemMapper::no_os_mmap)),
      super_total(names.field(runtime::ErtsMemMapper::size_supercarrier_total)),
      super_used(names.field(runtime::ErtsMemMapper::size_supercarrier_used_total)),
      super_used_aligned(names.field(runtime::ErtsMemMapper::size_supercarrier_used_sa)),
      super_used_unaligned(names.field(runtime::ErtsMemMapper::size_supercarrier_used_sua)),
      os_used(names.field(runtime::ErtsMemMapper::size_os_used)),
      allocator_bytes(names.bytes(runtime::ErtsMsegAllctr::kName)),
      stride(names.bytes(runtime::AlignedMsegAllctr::kName)),
      entry_bytes(names.bytes(runtime::MsegCacheEntry::kName)),
      mapper_bytes(names.bytes(runtime::ErtsMemMapper::kName)) {}

Result<AllocatorReader> AllocatorReader::open(Vm& vm) {
    const auto& tables = vm.tables().memory;
    if (!tables.allocators || !tables.thread_allocators) {
        return fail(ErrorCode::kAbsent, "the table of allocators was not found");
    }
    LayoutNames names(vm.layout());
    const AllocatorTableFields table_fields(names);
    const AllocatorFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    RETURN_IF_ERROR(check_arrays(table_fields, fields));
    return AllocatorReader(vm, table_fields, fields);
}

Result<std::vector<AllocatorPlace>> AllocatorReader::places() {
    const auto& found = vm_->tables().memory;
    const auto count = static_cast<std::uint32_t>(tables_.last) + 1;
    auto& memory = vm_->bulk();
    ASSIGN_OR_RETURN(const auto infos,
                     OwnedStruct::read(memory, *found.allocators, count * tables_.info_bytes));
    ASSIGN_OR_RETURN(const auto specs, OwnedStruct::read(memory, *found.thread_allocators,
                                                         count * tables_.spec_bytes));
    std::vector<AllocatorPlace> places;
    for (std::uint32_t number = 1; number < count; ++number) {
        const StructView info(infos.view().bytes().subspan(std::size_t{number} * tables_.info_bytes,
                                                           tables_.info_bytes));
        if (info.get(tables_.is_util) == 0 || info.get(tables_.enabled) == 0) {
            continue;
        }
        if (info.get(tables_.thread_specific) == 0) {
            places.push_back({number, 0, false, info.get(tables_.extra)});
            continue;
        }
        const StructView spec(specs.view().bytes().subspan(std::size_t{number} * tables_.spec_bytes,
                                                           tables_.spec_bytes));
        const auto size = spec.u32(tables_.spec_size);
        if (size > kMaxAllocatorInstances) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("allocator {}: expected at most {} instances, found {}", number,
                                    kMaxAllocatorInstances, size));
        }
        ASSIGN_OR_RETURN(const auto instances,
                         read_words(memory, spec.get(tables_.spec_instances), size));
        for (std::uint32_t index = 0; index < size; ++index) {
            if (instances[index] != 0) {
                places.push_back({number, index, true, instances[index]});
            }
        }
    }
    return places;
}

Result<std::string> AllocatorReader::name(Address prefix) {
    std::array<char, kMaxPrefixBytes> text{};
    ASSIGN_OR_RETURN(const auto got,
                     vm_->memory().read_some(prefix, std::as_writable_bytes(std::span(text))));
    const std::string_view all(text.data(), got);
    const auto end = all.find('\0');
    const bool whole = end != std::string_view::npos && end > 1 && all[end - 1] == '_' &&
                       std::ranges::all_of(all.substr(0, end), [](char letter) {
                           return (letter >= 'a' && letter <= 'z') || letter == '_';
                       });
    if (!whole) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("expected an allocator's name at {:#x}, found none", prefix));
    }
    return std::string(all.substr(0, end)) + "alloc";
}

Result<records::AllocatorCarriers> AllocatorReader::carriers(const StructView& allocator,
                                                             Field carriers, Field blocks) const {
    records::AllocatorCarriers record;
    const auto carrier = [&](std::size_t kind, Field field) {
        return allocator.get(at(carriers, kind, fields_.count_bytes, field));
    };
    const auto mseg = carrier(kMsegCarriers, fields_.size);
    const auto system = carrier(kSystemCarriers, fields_.size);
    if (mseg > kMaxMemoryBytes || system > kMaxMemoryBytes) {
        return no_counter("the size of an allocator's carriers", std::max(mseg, system));
    }
    record.set_mseg_carriers(carrier(kMsegCarriers, fields_.count));
    record.set_mseg_bytes(mseg);
    record.set_carriers(record.mseg_carriers() + carrier(kSystemCarriers, fields_.count));
    record.set_carrier_bytes(mseg + system);
    for (std::uint32_t number = 1; number <= tables_.last; ++number) {
        const auto count =
            allocator.get(at(blocks, number - 1, fields_.stats_bytes, fields_.block_count));
        const auto bytes =
            allocator.get(at(blocks, number - 1, fields_.stats_bytes, fields_.block_bytes));
        if (bytes > kMaxMemoryBytes || count > kMaxMemoryBytes) {
            return no_counter("the size of an allocator's blocks", std::max(bytes, count));
        }
        if (count != 0 || bytes != 0) {
            auto& record_blocks = *record.add_blocks();
            record_blocks.set_allocator(number);
            record_blocks.set_count(count);
            record_blocks.set_bytes(bytes);
        }
    }
    return record;
}

Result<records::AllocatorCarriers> AllocatorReader::pool(const StructView& allocator) const {
    records::AllocatorCarriers record;
    record.set_carriers(allocator.get(fields_.pool_carriers));
    record.set_carrier_bytes(allocator.get(fields_.pool_carrier_bytes));
    if (record.carrier_bytes() > kMaxMemoryBytes) {
        return no_counter("the size of pooled carriers", record.carrier_bytes());
    }
    for (std::uint32_t number = 1; number <= tables_.last; ++number) {
        const auto count = allocator.word(fields_.pool_blocks, number - 1);
        const auto bytes = allocator.word(fields_.pool_block_bytes, number - 1);
        if (bytes > kMaxMemoryBytes || count > kMaxMemoryBytes) {
            return no_counter("the size of pooled blocks", std::max(bytes, count));
        }
        if (count != 0 || bytes != 0) {
            auto& blocks = *record.add_blocks();
            blocks.set_allocator(number);
            blocks.set_count(count);
            blocks.set_bytes(bytes);
        }
    }
    return record;
}

Result<void> AllocatorReader::fixed_sizes(const StructView& allocator, bool has_pool,
                                          records::AllocatorInstance& record) {
    const auto lists = allocator.get(fields_.fix);
    std::vector<std::string_view> types;
    std::ranges::copy_if(kFixedSizeNames, std::back_inserter(types), [&](std::string_view name) {
        return fields_.has_queue_buffers || name != kQueueBuffers;
    });
    if (lists == 0 || fields_.fix_count != types.size()) {
        return {};
    }
    const auto count = static_cast<std::uint32_t>(fields_.fix_count);
    ASSIGN_OR_RETURN(const auto read,
                     OwnedStruct::read(vm_->bulk(), lists, count * fields_.fix_bytes));
    for (std::uint32_t index = 0; index < count; ++index) {
        const StructView list(
            read.view().bytes().subspan(std::size_t{index} * fields_.fix_bytes, fields_.fix_bytes));
        const auto each = list.get(fields_.type_bytes);
        // Objects; below 0 where other instances allocated what this one freed.
        const auto allocated = static_cast<std::int64_t>(
            list.get(has_pool ? fields_.pool_allocated : fields_.plain_allocated));
        const auto used =
            static_cast<std::int64_t>(list.get(has_pool ? fields_.pool_used : fields_.plain_used));
        constexpr std::uint64_t kMaxTypeBytes = 1U << 16U;
        constexpr std::int64_t kMaxObjects = std::int64_t{1} << 31U;
        if (each > kMaxTypeBytes || std::max(allocated, used) > kMaxObjects ||
            std::min(allocated, used) < -kMaxObjects) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("fix_alloc's type {} ({}): expected counts of objects, found "
                                    "{} used of {}, {} bytes each",
                                    index, types[index], used, allocated, each));
        }
        auto& type = *record.add_fixed_size();
        type.set_name(std::string(types[index]));
        type.set_allocated_bytes(allocated * static_cast<std::int64_t>(each));
        type.set_used_bytes(used * static_cast<std::int64_t>(each));
    }
    return {};
}

Result<AllocatorState> AllocatorReader::state(const AllocatorPlace& place) {
    const auto read = OwnedStruct::read(vm_->bulk(), place.address, fields_.bytes);
    if (!read) {
        return wrap(fmt::format("allocator {}, instance {}", place.number, place.index),
                    read.error());
    }
    const auto allocator = read->view();
    if (allocator.get(fields_.number) != place.number ||
        allocator.get(fields_.index) != place.index) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("allocator {}, instance {} at {:#x}: expected its own numbers, "
                                "found {} and {}",
                                place.number, place.index, place.address,
                                allocator.get(fields_.number), allocator.get(fields_.index)));
    }
    AllocatorState state;
    state.place = place;
    // erl_alloc_util.c: abandoned carriers go to a pool where there is a limit of utilisation.
    const bool has_pool = allocator.get(fields_.pool_limit) != 0;
    auto& record = state.record;
    record.set_number(place.number);
    record.set_index(place.index);
    record.set_thread_specific(place.thread_specific);
    ASSIGN_OR_RETURN(auto its_name, name(allocator.get(fields_.name_prefix)));
    record.set_name(std::move(its_name));
    ASSIGN_OR_RETURN(*record.mutable_multi_block(),
                     carriers(allocator, fields_.multi_carriers, fields_.multi_blocks));
    ASSIGN_OR_RETURN(*record.mutable_single_block(),
                     carriers(allocator, fields_.single_carriers, fields_.single_blocks));
    if (has_pool) {
        ASSIGN_OR_RETURN(*record.mutable_pool(), pool(allocator));
        state.pool_sentinel = allocator.get(fields_.pool_sentinel);
    }
    RETURN_IF_ERROR(fixed_sizes(allocator, has_pool, record));
    state.multi_list = allocator.get(fields_.multi_list);
    state.single_list = allocator.get(fields_.single_list);
    state.deallocated_list = allocator.get(fields_.deallocated_list);
    state.mapper = allocator.get(fields_.literal_mapper);
    state.carrier_header_bytes = allocator.u32(fields_.carrier_header_bytes);
    return state;
}

/// ErtsAllctrDDQueue_t, the first member of an instance, begins with a marker that is a member of
/// the list itself; each block has the next one in its first word (erl_alloc_util.h, OTP 25 to 29).
Result<void> AllocatorReader::add_delayed(AllocatorState& state) {
    auto& memory = vm_->bulk();
    const Address marker = state.place.address;
    ASSIGN_OR_RETURN(const auto after_marker, memory.word(marker));
    ASSIGN_OR_RETURN(const auto first, memory.word(marker + fields_.delayed_first.offset));
    if (!state.place.thread_specific || first == 0) {
        return {};
    }
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
    Address block = first;
    for (std::uint64_t met = 0; block != 0 && met < kMostDelayed; ++met) {
        if (block == marker) {
            block = after_marker;
            continue;
        }
        const auto words = read_words(memory, block - sizeof(BlockHeader::word), 2);
        if (!words) {
            break;
        }
        const BlockHeader header{words->front()};
        if (header.is_homecoming()) {
            block = words->back();
            continue;
        }
        const auto size = header.is_single() ? header.single_bytes() : header.bytes();
        const bool was_freed = header.is_free() && !header.is_single();
        if (was_freed || size > kMaxMemoryBytes) {
            break;
        }
        ++blocks;
        bytes += size;
        block = words->back();
    }
    state.record.set_delayed_blocks(blocks);
    state.record.set_delayed_bytes(bytes);
    return {};
}

}  // namespace beamdump::beam
