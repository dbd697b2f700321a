#include <libdump/base/first_items.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace beamdump {
namespace {

using ::testing::ElementsAre;

TEST(FirstItems, KeepTheFirstInOrder) {
    FirstItems<int, std::less<>> first(3, {});
    for (const int item : {5, 2, 9, 1, 7, 3}) {
        first.add(item);
        EXPECT_LE(first.items().size(), 3U);
    }
    EXPECT_FALSE(first.wants(3));
    EXPECT_TRUE(first.wants(2));
    EXPECT_THAT(first.take(), ElementsAre(1, 2, 3));
    EXPECT_TRUE(first.items().empty());
}

TEST(FirstItems, KeepAllWithoutALimit) {
    FirstItems<int, std::greater<>> first(0, {});
    for (const int item : {2, 3, 1}) {
        EXPECT_TRUE(first.wants(item));
        first.add(item);
    }
    EXPECT_THAT(first.take(), ElementsAre(3, 2, 1));
}

TEST(FirstItems, KeepTheEarlierOfEqualItems) {
    using Item = std::pair<int, char>;
    FirstItems<Item> first(2, [](const Item& a, const Item& b) { return a.first > b.first; });
    for (const char name : {'a', 'b', 'c', 'd'}) {
        first.add({1, name});
    }
    EXPECT_THAT(first.items(), ::testing::UnorderedElementsAre(Item(1, 'a'), Item(1, 'b')));
}

}  // namespace
}  // namespace beamdump
