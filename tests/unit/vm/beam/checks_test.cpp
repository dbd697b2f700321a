#include <libvm/beam/checks/checks.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::beam {
namespace {

void expect_times(Checks& checks, int good, int bad) {
    for (int i = 0; i < good; ++i) {
        checks.expect("a rule", true, [] { return std::string(); });
    }
    for (int i = 0; i < bad; ++i) {
        checks.expect("a rule", false, [i] { return "example " + std::to_string(i); });
    }
}

TEST(Checks, HoldWhileAtMostOneInTenFails) {
    Checks checks;
    expect_times(checks, 9, 1);
    EXPECT_FALSE(checks.verdict());
}

TEST(Checks, RefuseBeyondThatWithTheFirstExample) {
    Checks checks;
    expect_times(checks, 8, 2);
    ASSERT_TRUE(checks.verdict());
    EXPECT_THAT(*checks.verdict(), ::testing::HasSubstr("a rule: 2 of 10 do not fit: example 0"));
}

TEST(Checks, AddWhatOthersCounted) {
    Checks checks;
    expect_times(checks, 16, 0);
    Checks other;
    expect_times(other, 0, 2);
    checks.add(other);
    ASSERT_TRUE(checks.verdict());
    EXPECT_THAT(*checks.verdict(), ::testing::HasSubstr("a rule: 2 of 18 do not fit: example 0"));
}

TEST(Checks, SayNothingWhereNothingWasLookedAt) {
    EXPECT_FALSE(Checks().verdict());
}

}  // namespace
}  // namespace beamdump::beam
