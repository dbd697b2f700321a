#include "file/layout_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::layout {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

LayoutFile layout() {
    LayoutFile result;
    result.name = "otp-1";
    result.constants = {{"answer", 42}, {"gone", 1}};
    result.structs = {{"Thing", {16, {{"next", {8, 8}}, {"size", {0, 4}}}}}, {"Old", {8, {}}}};
    return result;
}

TEST(LayoutDiff, EqualLayoutsDifferInNothing) {
    EXPECT_THAT(layout_diff(layout(), layout()), IsEmpty());
}

TEST(LayoutDiff, OrderNameAndSourceDoNotCount) {
    auto other = layout();
    std::swap(other.structs[0], other.structs[1]);
    std::swap(other.constants[0], other.constants[1]);
    other.name = "otp-2";
    other.source = "elsewhere";
    EXPECT_THAT(layout_diff(layout(), other), IsEmpty());
}

TEST(LayoutDiff, NamesStructuresFieldsAndConstants) {
    auto other = layout();
    other.structs = {{"Thing", {24, {{"next", {16, 8}}, {"more", {0, 4}}}}}, {"New", {8, {}}}};
    other.constants = {{"answer", 43}, {"fresh", 2}};
    EXPECT_THAT(layout_diff(layout(), other),
                ElementsAre("Thing: 16 bytes -> 24 bytes",
                            "Thing.next: offset 8, 8 bytes -> offset 16, 8 bytes",
                            "Thing.size: offset 0, 4 bytes -> absent",
                            "Thing.more: absent -> offset 0, 4 bytes", "Old: 8 bytes -> absent",
                            "New: absent -> 8 bytes", "constant answer: 42 -> 43",
                            "constant gone: 1 -> absent", "constant fresh: absent -> 2"));
}

TEST(LayoutDiff, WordSizeCounts) {
    auto other = layout();
    other.word_bytes = 4;
    EXPECT_THAT(layout_diff(layout(), other), ElementsAre("word_bytes: 8 -> 4"));
}

TEST(LayoutDiff, TheArchitectureCountsAndIsInTheFile) {
    auto other = layout();
    other.architecture = "aarch64";
    const auto read = parse_layout(layout_json(other));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_THAT(layout_diff(layout(), *read), ElementsAre("architecture: x86-64 -> aarch64"));
}

}  // namespace
}  // namespace beamdump::layout
