#include "c_fixture.h"
#include "dwarf/constants_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::layout {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kConstantsSource = R"(
const unsigned long beamdump_layout_constant_one = 1;
const unsigned long beamdump_layout_constant_zero = 0;
const unsigned long beamdump_layout_constant_all = ~0UL;
const char beamdump_layout_text_otp_release[] = "27";
const unsigned long unrelated = 5;
)";

TEST(Constants, AreReadFromAnObjectFile) {
    CFixture c;
    for (const auto flags : {"", "-fdata-sections", "-O2 -g"}) {
        const auto read = read_constants(c.object(kConstantsSource, flags));
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(read->constants,
                  (Named<std::uint64_t>{{"all", ~std::uint64_t{0}}, {"one", 1}, {"zero", 0}}));
        EXPECT_EQ(read->texts, (Named<std::string>{{"otp_release", "27"}}));
    }
}

TEST(Constants, AreReadFromALinkedFile) {
    CFixture c;
    const auto read = read_constants(c.library({kConstantsSource}));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*find(read->constants, "one"), 1U);
    EXPECT_EQ(read->constants.size(), 3U);
}

TEST(Constants, AConstantOfAnotherSizeOrWithoutDataIsRefused) {
    CFixture c;
    const auto narrow = read_constants(c.object("const int beamdump_layout_constant_a = 1;"));
    ASSERT_FALSE(narrow);
    EXPECT_THAT(narrow.error().message, HasSubstr("constant_a does not hold 8 bytes"));
    // In .bss, where the file has no bytes.
    EXPECT_FALSE(read_constants(c.object("unsigned long beamdump_layout_constant_a;")));
    const auto none = read_constants(c.object("const unsigned long other = 1;"));
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, HasSubstr("layout/constants.c"));
    EXPECT_FALSE(read_constants(c.file("text", "no ELF file")));
    EXPECT_EQ(read_constants(c.path("nowhere")).error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace beamdump::layout
