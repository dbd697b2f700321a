#include <libdump/format/atom_limit.h>

#include <gtest/gtest.h>

namespace beamdump {
namespace {

TEST(AtomLimitTest, IsTheDefaultWithoutTheFlag) {
    const auto found = atom_limit_of({"beam.smp", "--", "-root", "/usr/lib/erlang"});
    EXPECT_EQ(found.limit, 1048576U);
    EXPECT_TRUE(found.is_default);
}

TEST(AtomLimitTest, IsThatOfTheEmulatorsFlag) {
    const auto found = atom_limit_of({"beam.smp", "-t", "2000000", "--", "-root", "/usr"});
    EXPECT_EQ(found.limit, 2000000U);
    EXPECT_FALSE(found.is_default);
    EXPECT_EQ(atom_limit_of({"beam.smp", "-t3000000", "--"}).limit, 3000000U);
}

TEST(AtomLimitTest, IsNotThatOfAFlagOfTheProgram) {
    EXPECT_EQ(atom_limit_of({"beam.smp", "--", "-extra", "-t", "5"}).limit, 1048576U);
}

TEST(AtomLimitTest, IsNotKnownOfACommandLineThatIsNotWhole) {
    EXPECT_FALSE(atom_limit_of({}).limit);
    EXPECT_FALSE(atom_limit_of({"beam.smp", "-t", "2000000"}).limit);
    EXPECT_FALSE(atom_limit_of({"beam.smp", "-t", "many", "--"}).limit);
}

}  // namespace
}  // namespace beamdump
