#include <libdump/model/recent_cache.h>

#include <gtest/gtest.h>

#include <string>

namespace beamdump {
namespace {

TEST(RecentCache, LeastRecentlyUsedFallsOut) {
    RecentCache<int, std::string> cache(2);
    cache.insert(1, "one");
    cache.insert(2, "two");
    ASSERT_NE(cache.find(1), nullptr);
    cache.insert(3, "three");
    EXPECT_EQ(cache.find(2), nullptr);
    ASSERT_NE(cache.find(1), nullptr);
    EXPECT_EQ(*cache.find(1), "one");
    EXPECT_EQ(*cache.find(3), "three");
}

TEST(RecentCache, ValueOutlivesItsSlot) {
    RecentCache<int, std::string> cache(1);
    const auto held = cache.insert(1, "one");
    cache.insert(2, "two");
    EXPECT_EQ(cache.find(1), nullptr);
    EXPECT_EQ(*held, "one");
}

}  // namespace
}  // namespace beamdump
