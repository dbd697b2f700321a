#include "cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::watch {
namespace {

using testing::HasSubstr;

TEST(WatchOptionsTest, HelpNamesAllThatRulesLookAt) {
    const auto parsed = parse_options({"--help"});
    ASSERT_TRUE(parsed);
    const auto& help = std::get<std::string>(*parsed);
    for (const auto& facts : quantities()) {
        EXPECT_THAT(help, HasSubstr(std::string(facts.name)));
    }
}

TEST(WatchOptionsTest, WithoutRulesItLooksAtLimits) {
    const auto parsed = parse_options({"rabbit@host"});
    ASSERT_TRUE(parsed);
    const auto& config = std::get<WatchCommand>(*parsed).config;
    EXPECT_THAT(config.nodes, testing::ElementsAre("rabbit@host"));
    EXPECT_FALSE(config.several());
    ASSERT_EQ(config.rules.size(), 4);
    EXPECT_EQ(config.rules[0].of, Quantity::kMemory);
    EXPECT_EQ(config.rules[0].hold, std::chrono::seconds(5));
}

TEST(WatchOptionsTest, OptionsMakeRulesWithNamesOfTheirOwn) {
    const auto parsed = parse_options({"--memory", "80%", "--rule", "memory > 90%", "--capture",
                                       "--redact structure", "--command", "true", "--bytes", "2G"});
    ASSERT_TRUE(parsed) << parsed.error().message;
    const auto& config = std::get<WatchCommand>(*parsed).config;
    ASSERT_EQ(config.rules.size(), 2);
    EXPECT_EQ(config.rules[0].name, "memory");
    EXPECT_EQ(config.rules[1].name, "memory_2");
    EXPECT_EQ(config.rules[0].command, "true");
    EXPECT_THAT(config.capture, testing::ElementsAre("--redact", "structure"));
    EXPECT_EQ(config.limits.bytes, std::uint64_t{2} << 30U);
}

TEST(WatchOptionsTest, RecordsAnHourUnlessToldOtherwise) {
    const auto record = [](const std::vector<std::string>& arguments) {
        return std::get<WatchCommand>(parse_options(arguments).value()).config.record;
    };
    EXPECT_EQ(record({"rabbit@host"}), std::chrono::hours(1));
    EXPECT_EQ(record({"rabbit@host", "--record", "24h"}), std::chrono::hours(24));
    EXPECT_EQ(record({"rabbit@host", "--record", "off"}), std::chrono::hours(0));
    EXPECT_FALSE(parse_options({"rabbit@host", "--record", "0s"}));
    EXPECT_FALSE(parse_options({"rabbit@host", "--record", "25h"}));
    const auto profile = [](const std::vector<std::string>& arguments) {
        return std::get<WatchCommand>(parse_options(arguments).value()).config.record_profile;
    };
    EXPECT_EQ(profile({"rabbit@host"}), 0U);
    EXPECT_EQ(profile({"rabbit@host", "--record-profile", "10"}), 10U);
    EXPECT_EQ(profile({"rabbit@host", "--record-profile", "off", "--record", "off"}), 0U);
    for (const auto* wrong : {"0", "101", "often", "-1"}) {
        EXPECT_FALSE(parse_options({"rabbit@host", "--record-profile", wrong})) << wrong;
    }
    const auto without =
        parse_options({"rabbit@host", "--record-profile", "10", "--record", "off"});
    ASSERT_FALSE(without);
    EXPECT_EQ(without.error().message,
              "a profile is a part of the recording, which is off: give --record a time");
}

TEST(WatchOptionsTest, SeveralNodes) {
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"--all"}, {"a", "b"}, {"rabbit@*"}, {"--rule", "memory > 90%", "a?@host"}}) {
        const auto parsed = parse_options(arguments);
        ASSERT_TRUE(parsed) << parsed.error().message;
        EXPECT_TRUE(std::get<WatchCommand>(*parsed).config.several());
    }
    const auto config = std::get<WatchCommand>(parse_options({"a", "b@*", "77"}).value()).config;
    EXPECT_TRUE(config.means("a@host", 1));
    EXPECT_TRUE(config.means("b@host", 1));
    EXPECT_TRUE(config.means("c@host", 77));
    EXPECT_FALSE(config.means("c@host", 1));
}

TEST(WatchOptionsTest, WrongOptionsAreUsage) {
    for (const auto& arguments : std::vector<std::vector<std::string>>{{"--interval", "soon"},
                                                                       {"--free", "much"},
                                                                       {"--most", "0"},
                                                                       {"--memory", "much"},
                                                                       {"--all", "b"}}) {
        const auto refused = parse_options(arguments);
        ASSERT_FALSE(refused) << arguments[0];
        EXPECT_EQ(refused.error().code, ErrorCode::kUsage) << arguments[0];
    }
}

}  // namespace
}  // namespace beamdump::watch
