// The allocators of a fake VM, mseg_alloc, its memory mappers, and the ranges of its code.

#include "fake_vm/fake_vm.h"

#include <array>
#include <string>

namespace beamdump::test {
namespace {

constexpr std::size_t kOfAllocators = 64;
constexpr std::size_t kMaxRanges = 64;
constexpr std::uint64_t kRangeBytes = 16;
constexpr std::uint32_t kFirstUtil = 2;  // erl_alloc_types.h: 1 is malloc itself
constexpr std::uint64_t kLiteralBytes = 1U << 20U;
constexpr std::uint64_t kOsBytes = 16U << 20U;
constexpr std::uint64_t kFixedObjectBytes = 80;

const std::array<const char*, 13> kPrefixes = {"",        "sys_",    "temp_", "sl_",  "std_",
                                               "ll_",     "eheap_",  "ets_",  "fix_", "literal_",
                                               "binary_", "driver_", "test_"};

}  // namespace

FakeStruct FakeVm::make_allocator(std::uint32_t number, std::uint32_t index) {
    auto allocator = at("Allctr", heap.place(bytes("Allctr"), kOfAllocators));
    allocator.set("name_prefix", read_only.place_text(kPrefixes.at(number)))
        .set("alloc_no", number)
        .set("ix", index);
    allocators_.emplace(std::pair(number, index), allocator.address());
    return allocator;
}

FakeStruct FakeVm::allocator(std::uint32_t number, std::uint32_t index) {
    return {memory, layout_, "Allctr", allocators_.at({number, index})};
}

void FakeVm::count_blocks(std::uint32_t number, std::uint32_t index, std::uint32_t requested,
                          std::uint64_t count, std::uint64_t size) {
    const auto stats = allocator(number, index).at("mbcs.blocks") +
                       std::uint64_t{requested - 1} * bytes("AllctrBlockStats");
    at("AllctrBlockStats", stats).set("curr.no", count).set("curr.size", size);
}

Address FakeVm::add_carrier(std::uint32_t number, std::uint32_t index, std::uint64_t size) {
    auto owner = allocator(number, index);
    const auto place = heap.place(size, kLeastPageBytes);
    at("Carrier", place)
        .set("chdr", size | 1)
        .set("allctr", owner.address())
        .set("next", owner.get("mbc_list.first"));
    owner.set("mbc_list.first", place);
    auto count = at("AllctrCount", owner.at("mbcs.carriers"));
    count.set("no", count.get("no") + 1).set("size", count.get("size") + size);
    return place;
}

Address FakeVm::add_pooled_carrier(std::uint32_t number, std::uint64_t size) {
    auto owner = allocator(number, 1);
    const auto sentinel = owner.get("cpool.sentinel");
    const auto place = heap.place(size, kLeastPageBytes);
    auto carrier = at("Carrier", place);
    carrier.set("chdr", size | 1).set("allctr", owner.address() | 1);
    auto first = at("CarrierPoolData", sentinel);
    at("CarrierPoolData", carrier.at("cpool"))
        .set("next", first.get("next"))
        .set("orig_allctr", owner.address());
    first.set("next", carrier.at("cpool"));
    owner.set("cpool.stat.no_carriers", owner.get("cpool.stat.no_carriers") + 1)
        .set("cpool.stat.carriers_size", owner.get("cpool.stat.carriers_size") + size);
    return place;
}

Address FakeVm::add_cached_segment(std::uint32_t index, std::uint64_t size) {
    const auto instance = globals_.segment_allocators + index * bytes("AlignedMsegAllctr");
    auto segments = at("ErtsMsegAllctr", instance);
    const auto entry = segments.at("cache") + segments.get("cache_size") * bytes("MsegCacheEntry");
    const auto place = heap.place(size, kLeastPageBytes);
    auto head = at("MsegCacheEntry", segments.at("cache_unpowered_node"));
    at("MsegCacheEntry", entry).set("seg", place).set("size", size).set("next", head.get("next"));
    head.set("next", entry);
    segments.set("cache_size", segments.get("cache_size") + 1);
    return place;
}

void FakeVm::make_fixed_sizes(FakeStruct& allocator) {
    const auto count = constant("fix_count");
    const auto lists = heap.place(count * bytes("ErtsAlcFixList"));
    allocator.set("fix", lists);
    for (std::uint64_t type = 0; type < count; ++type) {
        at("ErtsAlcFixList", lists + type * bytes("ErtsAlcFixList"))
            .set("type_size", kFixedObjectBytes);
    }
}

void FakeVm::make_segment_allocators() {
    const auto each = bytes("AlignedMsegAllctr");
    globals_.segment_allocators = heap.place((kAllocatorInstances + 1) * each, kOfAllocators);
    for (std::uint32_t index = 0; index < kAllocatorInstances; ++index) {
        auto instance = at("ErtsMsegAllctr", globals_.segment_allocators + index * each);
        instance.set("ix", index).set("is_init_done", 1).set("max_cache_size", 10);
        const auto list = [&](Address head) { at("MsegCacheEntry", head).set("next", head); };
        list(instance.at("cache_unpowered_node"));
        const auto powered = instance.at("cache_powered_node");
        for (Address head = powered; head < powered + 18 * bytes("MsegCacheEntry");
             head += bytes("MsegCacheEntry")) {
            list(head);
        }
    }
    // The pointer has a name in debug builds only.
    memory.put(data.place(8), globals_.segment_allocators);
}

Address FakeVm::make_mapper(std::string name) {
    const auto mapper = global(std::move(name), bytes("ErtsMemMapper"));
    const auto function = code.place(16);
    memory.put(mapper, std::array<std::uint64_t, 2>{function, function + 8});
    return mapper;
}

void FakeVm::make_allocators() {
    const auto count = constant("allocator_last") + 1;
    const auto specs = global("erts_allctr_thr_spec", count * bytes("ErtsAllocatorThrSpec"));
    const auto infos = global("erts_allctrs_info", count * bytes("ErtsAllocatorInfo"));
    globals_.thread_allocators = specs;
    globals_.allocators = infos;
    globals_.literal_mapper = make_mapper("erts_literal_mmapper");
    globals_.default_mapper = make_mapper("erts_dflt_mmapper");
    at("ErtsMemMapper", globals_.literal_mapper)
        .set("supercarrier", 1)
        .set("size.supercarrier.total", kLiteralBytes)
        .set("size.supercarrier.used.total", 2 * kLeastPageBytes)
        .set("size.supercarrier.used.sa", 2 * kLeastPageBytes);
    // sua.top and sa.bot (erl_mmap.c).
    memory.put(globals_.literal_mapper + 24, literals.range().end);
    memory.put(globals_.literal_mapper + 88, literals.range().begin);
    at("ErtsMemMapper", globals_.default_mapper).set("size.os.used", kOsBytes);
    for (std::uint32_t number = kFirstUtil; number < constant("allocator_test"); ++number) {
        auto info = at("ErtsAllocatorInfo", infos + number * bytes("ErtsAllocatorInfo"));
        info.set("alloc_util", 1).set("enabled", 1);
        if (number == constant("allocator_literal")) {
            auto literal = make_allocator(number, 0);
            literal.set("mseg_mmapper", globals_.literal_mapper);
            info.set("extra", literal.address());
            continue;
        }
        auto spec = at("ErtsAllocatorThrSpec", specs + number * bytes("ErtsAllocatorThrSpec"));
        const auto array = heap.place(kAllocatorInstances * 8);
        spec.set("enabled", 1).set("size", kAllocatorInstances).set("allctr", array);
        info.set("thr_spec", kAllocatorInstances).set("extra", spec.address());
        const auto sentinel = make("CarrierPoolData").address();
        at("CarrierPoolData", sentinel).set("next", sentinel);
        for (std::uint32_t index = 0; index < kAllocatorInstances; ++index) {
            auto instance = make_allocator(number, index);
            memory.put(array + index * 8, instance.address());
            // Instance 0 serves all threads that are no schedulers, and has no pool.
            if (index != 0) {
                instance.set("cpool.util_limit", 80).set("cpool.sentinel", sentinel);
            }
            if (number == constant("allocator_fixed_size")) {
                make_fixed_sizes(instance);
            }
        }
    }
    make_segment_allocators();
    symbols_["erts_total_code_size"] = heap.place_words({0x12340});
    symbols_["erts_ets_misc_mem_size"] = heap.place_words({131072});
    globals_.code_ranges = data.place(beam::kCodeIndexes * bytes("CodeRanges"));
    for (std::size_t index = 0; index < beam::kCodeIndexes; ++index) {
        at("CodeRanges", globals_.code_ranges + index * bytes("CodeRanges"))
            .set("modules", heap.place(kMaxRanges * kRangeBytes))
            .set("allocated", kMaxRanges);
    }
    data.place(bytes("CodeRanges"));  // zeros
}

void FakeVm::add_range(const FakeModule& module) {
    for (std::size_t index = 0; index < beam::kCodeIndexes; ++index) {
        auto ranges = at("CodeRanges", globals_.code_ranges + index * bytes("CodeRanges"));
        const auto count = ranges.get("n");
        memory.put(ranges.get("modules") + count * kRangeBytes,
                   std::array<std::uint64_t, 2>{module.header, module.end});
        ranges.set("n", count + 1);
    }
}

}  // namespace beamdump::test
