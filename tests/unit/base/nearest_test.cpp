#include <libdump/base/nearest.h>

#include <gtest/gtest.h>

namespace beamdump {
namespace {

TEST(EditDistance, CountsEdits) {
    EXPECT_EQ(edit_distance("processes", "processes", 3), 0U);
    EXPECT_EQ(edit_distance("proceses", "processes", 3), 1U);
    EXPECT_EQ(edit_distance("heap", "Heap", 3), 0U);
    EXPECT_EQ(edit_distance("haep", "heap", 3), 1U);
    EXPECT_EQ(edit_distance("", "abc", 3), 3U);
    EXPECT_EQ(edit_distance("kitten", "sitting", 9), 3U);
    EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3U) << "more than the limit";
}

std::string nearest_of(std::string_view word, std::initializer_list<std::string_view> names) {
    Nearest nearest(word);
    for (const auto name : names) {
        nearest.add(name);
    }
    return nearest.best();
}

TEST(Nearest, FindsTheClosest) {
    EXPECT_EQ(nearest_of("proces", {"processes", "process", "messages"}), "process");
    EXPECT_EQ(nearest_of("code_sever", {"init", "code_server", "kernel_sup"}), "code_server");
    EXPECT_EQ(nearest_of("AuditSink", {"init", "Elixir.Shop.AuditSink"}), "Elixir.Shop.AuditSink");
    EXPECT_EQ(nearest_of("nobody", {"init", "code_server"}), "");
    EXPECT_EQ(nearest_of("x", {"y"}), "") << "no letter is the same";
    EXPECT_EQ(nearest_of("ab", {"aB", "ab"}), "aB") << "the first of equals";
}

}  // namespace
}  // namespace beamdump
