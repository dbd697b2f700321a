#include <libsample/node/shared_code.h>

#include <gtest/gtest.h>

namespace beamdump::sampler {
namespace {

TEST(SharedCode, FindsWhatStacksReturnTo) {
    const SharedCode code(std::vector<beam::Found>{{"beam_normal_exit", 0x1000, "symbol"},
                                                   {"beam_return_trace", 0x800, "symbol"}});
    EXPECT_EQ(code.normal_exit(), 0x1000U);
    EXPECT_TRUE(code.holds(0x1000));
    EXPECT_TRUE(code.holds(0x800));
    EXPECT_FALSE(code.holds(0x808)) << "an instruction of eight bytes";
    EXPECT_EQ(code.name_at(0x800), "beam_return_trace");
    EXPECT_EQ(code.name_at(0x900), std::nullopt);
    EXPECT_EQ(code.begin_of("beam_normal_exit"), 0x1000U);
}

}  // namespace
}  // namespace beamdump::sampler
