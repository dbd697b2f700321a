#include "open_bytes.h"

#include <libdump/model/region_map.h>

#include <gtest/gtest.h>

#include <array>

namespace beamdump::test {
namespace {

constexpr std::uint64_t kBase = 0x10000;

/// A dump with one region whose word i is i * 3, and its reference.
struct OneRegion {
    explicit OneRegion(std::uint64_t words) {
        DumpBuilder builder(small_frames());
        builder.add_node();
        std::vector<std::uint64_t> content(words);
        for (std::uint64_t i = 0; i < words; ++i) {
            content[i] = i * 3;
        }
        ref = builder.add_region(format::OwnerKind::kProcess, 1, format::RegionKind::kHeap, kBase,
                                 content);
        bytes = builder.finish();
    }
    records::RegionRef ref;
    std::vector<std::byte> bytes;
};

TEST(RegionMap, ReadsWordsOfAStripedRegion) {
    constexpr std::uint64_t kWords = 30000;
    const OneRegion one(kWords);
    ASSERT_TRUE(one.ref.striped());
    OpenedBytes opened(one.bytes);
    RegionMap map(opened.dump().reader(), {expect_value(region_of(one.ref))});
    EXPECT_EQ(map.longest_region_bytes(), kWords * 8);
    std::vector<std::uint64_t> all(kWords + 10);
    EXPECT_EQ(expect_value(map.words(kBase, all)), kWords);
    for (std::uint64_t i = 0; i < kWords; ++i) {
        ASSERT_EQ(all[i], i * 3);
    }
    std::array<std::uint64_t, 3> some{};
    EXPECT_EQ(expect_value(map.words(kBase + 8191 * 8, some)), 3U);
    EXPECT_EQ(some, (std::array<std::uint64_t, 3>{8191 * 3, 8192 * 3, 8193 * 3}));
    EXPECT_EQ(expect_value(map.words(kBase + (kWords - 1) * 8, some)), 1U);
}

TEST(RegionMap, WordsThatACrashDumpLacksAreInNoRegion) {
    DumpBuilder builder(small_frames());
    builder.add_node();
    const auto ref = builder.add_region(format::OwnerKind::kProcess, 1, format::RegionKind::kHeap,
                                        kBase, {1, 2, format::kLackingWord, 4});
    const auto bytes = builder.finish();
    OpenedBytes opened(bytes);
    std::array<std::uint64_t, 4> some{};
    RegionMap plain(opened.dump().reader(), {expect_value(region_of(ref))});
    EXPECT_EQ(expect_value(plain.words(kBase, some)), 4U);
    RegionMap map(opened.dump().reader(), {expect_value(region_of(ref))}, RegionMap::Gaps::kMarked);
    EXPECT_EQ(expect_value(map.words(kBase, some)), 2U);
    EXPECT_EQ(map.words(kBase + 16, some).error().code, ErrorCode::kUnmapped);
    EXPECT_EQ(expect_value(map.words(kBase + 24, some)), 1U);
    EXPECT_EQ(some[0], 4U);
}

TEST(RegionMap, TheLastWrittenOfOverlappingRegionsCounts) {
    DumpBuilder builder(small_frames());
    builder.add_node();
    const auto add = [&](std::uint64_t address, std::uint64_t words, std::uint64_t value) {
        return expect_value(
            region_of(builder.add_region(format::OwnerKind::kNode, 0, format::RegionKind::kLiterals,
                                         address, std::vector<std::uint64_t>(words, value))));
    };
    const auto first = add(kBase, 100, 1);
    const auto inside = add(kBase + 40 * 8, 10, 2);
    const auto from_the_start = add(kBase, 5, 3);
    OpenedBytes opened(builder.finish());
    RegionMap map(opened.dump().reader(), {from_the_start, inside, first});
    std::vector<std::uint64_t> read;
    while (read.size() < 100) {
        std::array<std::uint64_t, 64> some{};
        const auto count = expect_value(map.words(kBase + read.size() * 8, some));
        ASSERT_GT(count, 0U);
        read.insert(read.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
    }
    ASSERT_EQ(read.size(), 100U);
    for (std::size_t i = 0; i < read.size(); ++i) {
        const std::uint64_t expected = i < 5 ? 3 : i >= 40 && i < 50 ? 2 : 1;
        ASSERT_EQ(read[i], expected) << i;
    }
    EXPECT_FALSE(map.covers(kBase + 100 * 8));
}

TEST(RegionMap, OutsideIsUnmapped) {
    const OneRegion one(10);
    OpenedBytes opened(one.bytes);
    RegionMap map(opened.dump().reader(), {expect_value(region_of(one.ref))});
    std::uint64_t word = 0;
    for (const std::uint64_t address :
         {std::uint64_t{0}, kBase - 8, kBase + 80, kBase + 4, ~std::uint64_t{7}}) {
        const auto got = map.words(address, std::span(&word, 1));
        ASSERT_FALSE(got) << address;
        EXPECT_EQ(got.error().code, ErrorCode::kUnmapped);
    }
}

TEST(RegionMap, AnAddressOutsideIsAbsent) {
    OneRegion one(10);
    one.ref.set_here(4);
    one.ref.set_state(static_cast<std::uint32_t>(format::RegionState::kRedacted));
    OpenedBytes opened(one.bytes);
    RegionMap map(opened.dump().reader(), {expect_value(region_of(one.ref))});
    std::array<std::uint64_t, 10> words{};
    EXPECT_EQ(expect_value(map.words(kBase, words)), 4U);
    const auto got = map.words(kBase + 4 * 8, words);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kAbsent);
    EXPECT_NE(got.error().message.find("redacted"), std::string::npos);
}

TEST(RegionMap, RefusesADirectoryThatContradictsTheRegion) {
    OneRegion one(10);
    one.ref.set_address(kBase + 8);
    OpenedBytes opened(one.bytes);
    RegionMap map(opened.dump().reader(), {expect_value(region_of(one.ref))});
    std::uint64_t word = 0;
    const auto got = map.words(kBase + 8, std::span(&word, 1));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kCorrupt);
}

TEST(Region, RefusesSizesThatCannotBe) {
    records::RegionRef ref;
    ref.set_address(~std::uint64_t{0} - 100);
    ref.set_total(1000);
    EXPECT_EQ(region_of(ref).error().code, ErrorCode::kCorrupt);
    ref.set_address(8);
    ref.set_total(~std::uint64_t{0});
    EXPECT_EQ(region_of(ref).error().code, ErrorCode::kCorrupt);
    ref.set_total(1);
    ref.set_here(2);
    EXPECT_EQ(region_of(ref).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace beamdump::test
