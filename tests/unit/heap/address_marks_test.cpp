#include <libdump/heap/address_marks.h>

#include <gtest/gtest.h>

#include <vector>

namespace beamdump::test {
namespace {

TEST(AddressMarks, HoldsWordsOfAnyPage) {
    AddressMarks marks;
    EXPECT_TRUE(marks.empty());
    for (std::uint64_t address = 0; address < (1U << 24U); address += 40'008) {
        EXPECT_FALSE(marks.has(address)) << address;
        EXPECT_EQ(marks.add(address), true) << address;
        EXPECT_EQ(marks.add(address), false) << address;
        EXPECT_TRUE(marks.has(address)) << address;
        EXPECT_FALSE(marks.has(address + 8)) << address;
    }
    EXPECT_EQ(marks.add(0xFFFF'FFFF'FFFF'FFF8), true);
    EXPECT_TRUE(marks.has(0xFFFF'FFFF'FFFF'FFF8));
}

TEST(AddressMarks, PagesFarApartDoNotMix) {
    // 4096 pages of 32 KiB apart: where a lookup table would fold.
    constexpr std::uint64_t kFold = 4096ULL * 32768;
    AddressMarks marks;
    EXPECT_EQ(marks.add(64), true);
    EXPECT_FALSE(marks.has(64 + kFold));
    EXPECT_EQ(marks.add(64 + kFold), true);
    EXPECT_TRUE(marks.has(64));
    EXPECT_EQ(marks.add(64), false);
}

TEST(AddressMarks, ForgetsAllOnClear) {
    AddressMarks marks;
    for (int round = 0; round < 3; ++round) {
        for (std::uint64_t i = 0; i < 1000; ++i) {
            EXPECT_EQ(marks.add(i * 32768 + 8), true);
        }
        marks.clear();
        EXPECT_TRUE(marks.empty());
        EXPECT_FALSE(marks.has(8));
    }
    EXPECT_LT(marks.held_bytes(), 1001U * 600U);
}

TEST(AddressMarks, NumbersEachMemberOnce) {
    AddressMarks marks;
    std::vector<std::uint64_t> members;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
        members.push_back(i * i * 8);
        ASSERT_TRUE(marks.add(members.back()));
    }
    ASSERT_EQ(marks.number_members(), members.size());
    std::vector<bool> taken(members.size());
    for (const std::uint64_t member : members) {
        const std::uint64_t number = marks.number_of_member(member);
        ASSERT_LT(number, taken.size());
        EXPECT_FALSE(taken[number]) << member;
        taken[number] = true;
    }
}

TEST(AddressMarks, WithoutRoomAddsNothing) {
    ScratchSpace space({.max_memory_bytes = 0, .max_file_bytes = 0});
    AddressMarks marks(&space);
    for (int attempt = 0; attempt < 2; ++attempt) {
        const auto added = marks.add(64);
        ASSERT_FALSE(added);
        EXPECT_EQ(added.error().code, ErrorCode::kLimit);
        EXPECT_FALSE(marks.has(64));
        EXPECT_TRUE(marks.empty());
    }
}

}  // namespace
}  // namespace beamdump::test
