#include "capture/copy/address_map.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace beamdump::capture {
namespace {

TEST(AddressMap, KnowsWhatWasPutIn) {
    AddressMap map(64);
    EXPECT_TRUE(map.insert(0x1000));
    EXPECT_FALSE(map.insert(0x1000));
    EXPECT_TRUE(map.insert(0x1008));
    EXPECT_EQ(map.size(), 2U);
}

TEST(AddressMap, GivesValuesInOrderOfAddressAndLeavesOutThoseWithout) {
    AddressMap map(1024);
    for (std::uint64_t i = 700; i > 0; --i) {
        ASSERT_TRUE(map.insert(i * 24));
        if (i % 7 != 0) {
            map.set(i * 24, i);
        }
    }
    const auto entries = map.sort();
    ASSERT_EQ(entries.size(), 600U);
    EXPECT_TRUE(std::ranges::is_sorted(entries));
    for (const auto& [address, value] : entries) {
        EXPECT_EQ(address, value * 24);
    }
    map.clear();
    EXPECT_EQ(map.size(), 0U);
    EXPECT_TRUE(map.insert(24));
}

TEST(AddressMap, IsFullAtThreeQuarters) {
    AddressMap map(64);
    for (std::uint64_t i = 1; i < 48; ++i) {
        map.insert(i * 8);
        EXPECT_FALSE(map.full()) << i;
    }
    map.insert(48 * 8);
    EXPECT_TRUE(map.full());
}

}  // namespace
}  // namespace beamdump::capture
