#include <libdump/redact/atom_names.h>
#include <libdump/redact/policy.h>

#include <gtest/gtest.h>

namespace beamdump::redact {
namespace {

TEST(PublicAtoms, HaveTheFunctionsThatNoModuleHas) {
    EXPECT_TRUE(is_public_atom("bif_return_trap"));
    EXPECT_TRUE(is_public_atom("$gen_call"));
    EXPECT_FALSE(is_public_atom("bif_return"));
}

TEST(Policy, HasTwoNames) {
    EXPECT_EQ(named_policy("structure")->level, Level::kStructure);
    EXPECT_EQ(named_policy("text")->level, Level::kText);
    EXPECT_FALSE(named_policy("texts"));
}

TEST(Policy, APolicyIsReadFromJson) {
    const auto policy = parse_policy(
        R"({"level": "text", "keep_atoms": ["my_*"], "hide_atoms": ["a", "b"], "salt": "s"})");
    ASSERT_TRUE(policy) << policy.error().message;
    EXPECT_EQ(policy->name, "file, level text");
    EXPECT_EQ(policy->level, Level::kText);
    EXPECT_EQ(policy->keep_atoms, std::vector<std::string>{"my_*"});
    EXPECT_EQ(policy->hide_atoms, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(policy->salt, "s");
}

TEST(Policy, APolicyOfJsonHasListsOfTerms) {
    const auto policy =
        parse_policy(R"({"level": "structure", "keep_keys": ["a*"], "hide_keys": ["ab"],
        "keep_records": ["r"], "hide_structs": ["S"], "keep_modules": ["m"]})");
    ASSERT_TRUE(policy) << policy.error().message;
    EXPECT_TRUE(policy->has_term_lists());
    EXPECT_EQ(policy->keys.keep, std::vector<std::string>{"a*"});
    EXPECT_EQ(policy->keys.hide, std::vector<std::string>{"ab"});
    EXPECT_EQ(policy->records.keep, std::vector<std::string>{"r"});
    EXPECT_EQ(policy->structs.hide, std::vector<std::string>{"S"});
    EXPECT_EQ(policy->modules.keep, std::vector<std::string>{"m"});
    EXPECT_FALSE(parse_policy(R"({"level": "text"})")->has_term_lists());
    EXPECT_TRUE(parse_policy(R"({"level": "text", "keep_keys": ["a"]})"));
    const auto refused = parse_policy(R"({"level": "text", "hide_keys": ["a"]})");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
}

TEST(Policy, RefusesWhatItDoesNotKnow) {
    for (const auto* json :
         {"", "[]", "{", "{}", R"({"level": "none"})", R"({"level": 1})",
          R"({"level": "text", "keys": []})", R"({"level": "text", "keep_atoms": "a"})",
          R"({"level": "text", "keep_atoms": [1]})", R"({"level": "text", "keep_atoms": [""]})",
          R"({"level": "text", "salt": ""})",
          R"({"level": "structure", "hide_keys": ["a"], "hide_keys": ["b"]})",
          R"({"level": "structure", "hide_keys": ["a"]} ])", R"({"level": "structure", "hide_k)",
          R"({"keep_atoms": ["a"]})"}) {
        const auto policy = parse_policy(json);
        ASSERT_FALSE(policy) << json;
        EXPECT_EQ(policy.error().code, ErrorCode::kUsage) << json;
    }
    EXPECT_EQ(read_policy("/nowhere/policy.json").error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace beamdump::redact
