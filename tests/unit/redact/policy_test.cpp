#include <libdump/redact/policy.h>

#include <gtest/gtest.h>

namespace beamdump::redact {
namespace {

TEST(Policy, HasTwoNames) {
    EXPECT_EQ(named_policy("structure")->level, Level::kStructure);
    EXPECT_EQ(named_policy("text")->level, Level::kText);
    EXPECT_FALSE(named_policy("texts"));
}

TEST(Policy, OfJson) {
    const auto policy = parse_policy(
        R"({"level": "text", "keep_atoms": ["my_*"], "hide_atoms": ["a", "b"], "salt": "s"})");
    ASSERT_TRUE(policy) << policy.error().message;
    EXPECT_EQ(policy->name, "file, level text");
    EXPECT_EQ(policy->level, Level::kText);
    EXPECT_EQ(policy->keep_atoms, std::vector<std::string>{"my_*"});
    EXPECT_EQ(policy->hide_atoms, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(policy->salt, "s");
}

TEST(Policy, RefusesWhatItDoesNotKnow) {
    for (const auto* json :
         {"", "[]", "{", "{}", R"({"level": "none"})", R"({"level": 1})",
          R"({"level": "text", "keys": []})", R"({"level": "text", "keep_atoms": "a"})",
          R"({"level": "text", "keep_atoms": [1]})", R"({"level": "text", "keep_atoms": [""]})",
          R"({"level": "text", "salt": ""})", R"({"keep_atoms": ["a"]})"}) {
        const auto policy = parse_policy(json);
        ASSERT_FALSE(policy) << json;
        EXPECT_EQ(policy.error().code, ErrorCode::kUsage) << json;
    }
    EXPECT_EQ(read_policy("/nowhere/policy.json").error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace beamdump::redact
