#include "fake_vm/each_layout.h"

#include <libvm/beam/allocators/allocators.h>
#include <libvm/beam/allocators/memory_amounts.h>
#include <libvm/beam/allocators/segments.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kMegabyte = 1U << 20U;

class AllocatorsTest : public OnStandardNode {
  protected:
    std::uint32_t number(std::string_view name) {
        return static_cast<std::uint32_t>(node.vm.constant(name));
    }
    std::vector<AllocatorState> states(std::optional<std::uint32_t> only = {}) {
        auto reader = AllocatorReader::open(fresh()).value();
        std::vector<AllocatorState> states;
        const auto places = reader.places().value();
        for (const auto& place : places) {
            if (!only || place.number == *only) {
                states.push_back(reader.state(place).value());
            }
        }
        return states;
    }
    std::vector<records::AllocatorInstance> records() {
        std::vector<records::AllocatorInstance> records;
        for (auto& state : states()) {
            records.push_back(std::move(state.record));
        }
        return records;
    }
    Result<AllocatorState> state(std::uint32_t number, std::uint32_t index) {
        auto reader = AllocatorReader::open(fresh()).value();
        return reader.state({number, index, true, node.vm.allocator(number, index).address()});
    }

    std::uint32_t eheap = number("allocator_heap");
    std::uint32_t fixed = number("allocator_fixed_size");
};

TEST_P(AllocatorsTest, AreFoundByNameAndByShape) {
    for (const auto symbols : {FakeVm::Symbols::kNone, FakeVm::Symbols::kAll}) {
        const auto located = node.vm.located(symbols);
        const auto& tables = located->tables().memory;
        const auto& globals = node.vm.globals();
        EXPECT_EQ(tables.allocators, globals.allocators);
        EXPECT_EQ(tables.thread_allocators, globals.thread_allocators);
        EXPECT_EQ(tables.segment_allocators, globals.segment_allocators);
        EXPECT_EQ(tables.default_mapper, globals.default_mapper);
        EXPECT_EQ(tables.literal_mapper, globals.literal_mapper);
        EXPECT_EQ(tables.code_ranges, globals.code_ranges);
        EXPECT_EQ(tables.ets_bytes.has_value(), symbols == FakeVm::Symbols::kAll);
        EXPECT_THAT(tables.not_found, ::testing::IsEmpty());
    }
}

/// Until the boot has loaded code through it, a code index has no array of code ranges.
TEST_P(AllocatorsTest, CodeRangesAreFoundWhileTheNodeBoots) {
    for (std::size_t index = 0; index < kCodeIndexes; ++index) {
        const auto each = node.vm.bytes("CodeRanges");
        auto ranges = node.vm.at("CodeRanges", node.vm.globals().code_ranges + index * each);
        if (index != FakeVm::kActiveCode) {
            ranges.set("modules", 0).set("n", 0).set("allocated", 0);
        }
    }
    const auto located = node.vm.located(FakeVm::Symbols::kNone);
    EXPECT_EQ(located->tables().memory.code_ranges, node.vm.globals().code_ranges);
}

/// Most words of an image's data are 0, which is no reason to read more than the copy of it.
TEST_P(AllocatorsTest, AreSoughtWithoutReadsForEachWordOfTheImage) {
    const auto before = node.vm.memory.stats().reads;
    EXPECT_NE(node.vm.located(FakeVm::Symbols::kNone)->tables().memory.code_ranges, 0U);
    const auto reads = node.vm.memory.stats().reads - before;
    EXPECT_LT(reads, node.vm.data.range().bytes() / sizeof(std::uint64_t) / 10);
}

TEST_P(AllocatorsTest, ANodeWithoutThemIsLocated) {
    const auto spec = node.vm.bytes("ErtsAllocatorThrSpec");
    for (std::uint32_t index = 0; index <= number("allocator_last"); ++index) {
        node.vm.at("ErtsAllocatorThrSpec", node.vm.globals().thread_allocators + index * spec)
            .set("allctr", kNowhere);
    }
    const auto active = FakeVm::kActiveCode * node.vm.bytes("CodeRanges");
    node.vm.at("CodeRanges", node.vm.globals().code_ranges + active).set("n", kMegabyte);
    const auto located = node.vm.located(FakeVm::Symbols::kNone);
    const auto& tables = located->tables().memory;
    EXPECT_FALSE(tables.allocators);
    EXPECT_FALSE(tables.default_mapper);
    EXPECT_THAT(tables.not_found,
                ElementsAre(HasSubstr("erts_allctr_thr_spec was not found"),
                            HasSubstr("erts_allctrs_info"), HasSubstr("erts_literal_mmapper"),
                            HasSubstr("erts_dflt_mmapper"), HasSubstr("r was not found")));
    EXPECT_EQ(AllocatorReader::open(*located).error().code, ErrorCode::kAbsent);
}

TEST_P(AllocatorsTest, BlocksThatOtherThreadsGaveBackAreCounted) {
    auto instance = node.vm.allocator(eheap, 1);
    const auto added = [&] {
        auto reader = AllocatorReader::open(fresh()).value();
        auto found = reader.state({eheap, 1, true, instance.address()}).value();
        EXPECT_TRUE(reader.add_delayed(found).has_value());
        return found.record;
    };
    // An instance that all threads free in has no such list.
    instance.set("dd.q.head.first", 0);
    EXPECT_FALSE(added().has_delayed_blocks());
    // Its marker, which is the instance's first word, is the whole list.
    instance.set("dd.q.head.first", instance.address());
    EXPECT_EQ(added().delayed_blocks(), 0U);
    EXPECT_TRUE(added().has_delayed_blocks());
    // Header, then the next one: a block of several, the marker, the block of a carrier of one, a
    // carrier that comes home, and a block.
    constexpr std::uint64_t kHeader = 8;
    const auto block = [&](std::uint64_t header, Address next) {
        return node.vm.heap.place_words(std::vector<std::uint64_t>{header, next}) + kHeader;
    };
    const auto last = block(48, 0);
    const auto home = block(4096 | 5, last);
    const auto single = block(65536 | 7, home);
    node.vm.memory.put(instance.address(), single);
    instance.set("dd.q.head.first", block(32 | (std::uint64_t{3} << 40U), instance.address()));
    EXPECT_EQ(added().delayed_blocks(), 3U);
    EXPECT_EQ(added().delayed_bytes(), 48U + 65536U + 32U);
    // One that was freed meanwhile ends the walk.
    node.vm.memory.put(home - kHeader, 4096 | 1);
    EXPECT_EQ(added().delayed_blocks(), 2U);
}

TEST_P(AllocatorsTest, CountersAreReadByInstance) {
    auto& fake = node.vm;
    fake.add_carrier(eheap, 1, kMegabyte / 4);
    fake.count_blocks(eheap, 1, eheap, 17, 209328);
    fake.count_blocks(eheap, 1, fixed, 2, 600);  // taken over from another allocator
    fake.add_pooled_carrier(eheap, kMegabyte / 8);
    const auto found = states(eheap);
    ASSERT_EQ(found.size(), FakeVm::kAllocatorInstances);
    EXPECT_FALSE(found[0].record.has_pool());
    const auto& record = found[1].record;
    EXPECT_EQ(record.name(), "eheap_alloc");
    EXPECT_EQ(record.index(), 1U);
    EXPECT_TRUE(record.thread_specific());
    EXPECT_EQ(record.multi_block().carriers(), 1U);
    EXPECT_EQ(record.multi_block().carrier_bytes(), kMegabyte / 4);
    EXPECT_EQ(record.multi_block().mseg_carriers(), 1U);
    ASSERT_EQ(record.multi_block().blocks_size(), 2);
    EXPECT_EQ(record.multi_block().blocks(0).bytes(), 209328U);
    EXPECT_EQ(record.multi_block().blocks(1).allocator(), fixed);
    EXPECT_EQ(record.single_block().carriers(), 0U);
    EXPECT_EQ(record.pool().carriers(), 1U);
    EXPECT_EQ(record.pool().carrier_bytes(), kMegabyte / 8);
    EXPECT_EQ(states(number("allocator_literal")).size(), 1U);
    EXPECT_FALSE(states(number("allocator_literal"))[0].record.thread_specific());
}

TEST_P(AllocatorsTest, ArraysThatAreTooShortAreRefused) {
    fresh().assume(layout.moved("AllctrBlockStats", "max_ever.size", 8));
    EXPECT_THAT(AllocatorReader::open(*vm).error().message, HasSubstr("counters: expected arrays"));
}

TEST_P(AllocatorsTest, InstancesThatLieAreRefused) {
    auto instance = node.vm.allocator(eheap, 1);
    instance.set("alloc_no", 77);
    EXPECT_THAT(state(eheap, 1).error().message, HasSubstr("found 77 and 1"));
    instance.set("alloc_no", eheap);
    node.vm.count_blocks(eheap, 1, eheap, 1, ~std::uint64_t{0});
    EXPECT_EQ(state(eheap, 1).error().code, ErrorCode::kImplausible);
    node.vm.count_blocks(eheap, 1, eheap, 1, 1);
    const auto prefix = instance.get("name_prefix");
    instance.set("name_prefix", kNowhere);
    EXPECT_FALSE(state(eheap, 1));
    instance.set("name_prefix", prefix);
    EXPECT_TRUE(state(eheap, 1));
    auto reader = AllocatorReader::open(fresh()).value();
    EXPECT_EQ(reader.state({eheap, 1, true, kNowhere}).error().code, ErrorCode::kUnmapped);
    auto spec =
        node.vm.at("ErtsAllocatorThrSpec", node.vm.globals().thread_allocators +
                                               eheap * node.vm.bytes("ErtsAllocatorThrSpec"));
    spec.set("size", kMaxAllocatorInstances + 1);
    EXPECT_THAT(reader.places().error().message, HasSubstr("found 4097"));
    spec.set("size", 2).set("allctr", kNowhere);
    EXPECT_EQ(reader.places().error().code, ErrorCode::kUnmapped);
}

TEST_P(AllocatorsTest, CachedSegmentsAreFound) {
    const auto first = node.vm.add_cached_segment(0, kMegabyte / 4);
    const auto second = node.vm.add_cached_segment(1, kMegabyte / 8);
    const auto found = read_segment_cache(fresh(), FakeVm::kAllocatorInstances).value();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].begin, first);
    EXPECT_EQ(found[1].begin, second);
    EXPECT_EQ(found[1].bytes(), kMegabyte / 8);
    // More instances than there are.
    EXPECT_FALSE(read_segment_cache(fresh(), FakeVm::kAllocatorInstances + 1));
    auto instance = node.vm.at("ErtsMsegAllctr", node.vm.globals().segment_allocators);
    instance.set("cache_size", 2);
    EXPECT_THAT(read_segment_cache(fresh(), 1).error().message, HasSubstr("expected 2 cached"));
    auto head = node.vm.at("MsegCacheEntry", instance.at("cache_unpowered_node"));
    auto entry = node.vm.at("MsegCacheEntry", head.get("next"));
    entry.set("next", entry.address());
    EXPECT_FALSE(read_segment_cache(fresh(), 1));
    entry.set("next", instance.at("cache_unpowered_node")).set("seg", 0);
    EXPECT_FALSE(read_segment_cache(fresh(), 1));
    head.set("next", kNowhere);
    EXPECT_THAT(read_segment_cache(fresh(), 1).error().message, HasSubstr("inside of it"));
}

TEST_P(AllocatorsTest, ACachedSegmentMayBeWhereOnlyAarch64HasMemory) {
    constexpr Address kHigh = 0xffff17e1a000;
    node.vm.add_cached_segment(0, kMegabyte / 4);
    const auto instance = node.vm.at("ErtsMsegAllctr", node.vm.globals().segment_allocators);
    const auto head = node.vm.at("MsegCacheEntry", instance.at("cache_unpowered_node"));
    node.vm.at("MsegCacheEntry", head.get("next")).set("seg", kHigh);
    const auto found = read_segment_cache(fresh(), 1);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->front().begin, kHigh);
}

TEST_P(AllocatorsTest, MappersAreRead) {
    const auto plain = read_memory_mapper(fresh(), node.vm.globals().default_mapper).value();
    EXPECT_FALSE(plain.super_carrier());
    EXPECT_FALSE(plain.has_super_carrier_bytes());
    EXPECT_EQ(plain.os_bytes(), 16 * kMegabyte);
    const auto literals = read_memory_mapper(fresh(), node.vm.globals().literal_mapper).value();
    EXPECT_TRUE(literals.super_carrier());
    EXPECT_EQ(literals.super_carrier_used_bytes(), 8192U);
    node.vm.at("ErtsMemMapper", node.vm.globals().default_mapper)
        .set("size.supercarrier.used.total", 1);
    EXPECT_EQ(read_memory_mapper(fresh(), node.vm.globals().default_mapper).error().code,
              ErrorCode::kImplausible);
}

TEST_P(AllocatorsTest, CategoriesFollowTheRulesOfTheVm) {
    auto& fake = node.vm;
    for (std::uint32_t type = number("allocator_temporary"); type < number("allocator_test");
         ++type) {
        fake.count_blocks(type, 0, type, 1, 1000 * type);
    }
    const auto fix = fake.allocator(fixed, 0).get("fix");
    fake.at("ErtsAlcFixList", fix).set("u.nocpool.allocated", 10).set("u.nocpool.used", 4);
    // What another instance allocated was freed by this one.
    fake.at("ErtsAlcFixList", fake.allocator(fixed, 1).get("fix"))
        .set("u.cpool.allocated", 3)
        .set("u.cpool.used", static_cast<std::uint64_t>(-1));
    const MemoryAmounts areas = {{"atom_table", 50},  {"atom_space", 7},    {"atom_space_used", 3},
                                 {"module_table", 1}, {"export_table", 2},  {"export_list", 4},
                                 {"fun_table", 8},    {"fun_list", 16},     {"module_refs", 32},
                                 {"loaded_code", 64}, {"process_table", 5}, {"ets_misc", 9}};
    auto categories = memory_categories(layout, records(), areas);
    const bool staged = fake.has("FunTableEntry");
    const std::uint64_t heaps = 1000 * std::uint64_t{eheap} + 5;
    EXPECT_EQ(categories["total"], 1000U * (3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11) + 64);
    EXPECT_EQ(categories["processes"], heaps + std::uint64_t{13} * 80);
    EXPECT_EQ(categories["processes_used"], heaps + std::uint64_t{3} * 80);
    EXPECT_EQ(categories["system"], categories["total"] - categories["processes"]);
    EXPECT_EQ(categories["binary"], 10000U);
    EXPECT_EQ(categories["ets"], 7009U);
    EXPECT_EQ(categories["atom"], 57U);
    EXPECT_EQ(categories["atom_used"], 53U);
    EXPECT_EQ(categories["code"], staged ? 127U : 111U);
    auto without = areas;
    without.erase("ets_misc");
    without.erase("module_refs");
    categories = memory_categories(layout, records(), without);
    EXPECT_FALSE(categories.contains("ets"));
    EXPECT_FALSE(categories.contains("code"));
    EXPECT_TRUE(categories.contains("total"));
    // An allocator that is switched off counts nothing, and then the VM tells no memory either.
    auto some = records();
    std::erase_if(some, [&](const auto& record) { return record.number() == eheap; });
    categories = memory_categories(layout, some, areas);
    EXPECT_FALSE(categories.contains("total"));
    EXPECT_FALSE(categories.contains("processes"));
    EXPECT_TRUE(categories.contains("atom"));
}

TEST_P(AllocatorsTest, AreasThatCannotBeReadAreNamed) {
    std::vector<std::string> failed;
    const auto note = [&failed](std::string sentence) { failed.push_back(std::move(sentence)); };
    auto areas = read_areas(fresh(), {}, 999, note);
    EXPECT_THAT(failed, ::testing::IsEmpty());
    EXPECT_EQ(areas["process_table"], 12U * FakeVm::kSlots);
    EXPECT_EQ(areas["loaded_code"], 0x12340U);
    EXPECT_EQ(areas["ets_misc"], 131072U);
    EXPECT_EQ(areas.contains("fun_list"), node.vm.has("FunTableEntry"));
    node.vm.at("Hash", node.vm.globals().atoms).set("shift", 3);
    areas = read_areas(fresh(), {}, 999, note);
    EXPECT_FALSE(areas.contains("atom_table"));
    EXPECT_THAT(failed, ElementsAre(HasSubstr("atom_table")));
}

TEST(AtomSpace, CountsBlocksOfTexts) {
    AtomSpace space;
    space.add(0x1000, 4);
    space.add(0x1004, 0);
    space.add(0x1004, 10);
    EXPECT_EQ(space.reserved_bytes(), 32776U);
    space.add(0x9000, 1);
    EXPECT_EQ(space.used_bytes(), 15U);
    EXPECT_EQ(space.reserved_bytes(), 2 * 32776U);
    AtomSpace terms;
    terms.add(std::nullopt, 5);
    terms.add(std::nullopt, 6);
    EXPECT_EQ(terms.used_bytes(), 11U);
    EXPECT_EQ(terms.reserved_bytes(), 11U);
}

BEAMDUMP_FOR_EACH_LAYOUT(AllocatorsTest);

}  // namespace
}  // namespace beamdump::beam
