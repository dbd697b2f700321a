#include <libvm/nodes/node_choice.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace beamdump::nodes {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class NodeChoice : public ::testing::Test {
  protected:
    Result<pid_t> choose(std::string_view wanted) {
        std::vector<pid_t> vms;
        for (const auto& [pid, name] : names_) {
            vms.push_back(pid);
        }
        return choose_node(wanted, vms, [&](pid_t pid) {
            ++names_read_;
            return names_.at(pid);
        });
    }
    std::string refused(std::string_view wanted, ErrorCode code = ErrorCode::kUsage) {
        const auto chosen = choose(wanted);
        EXPECT_FALSE(chosen) << chosen.value_or(0);
        EXPECT_EQ(chosen.error().code, code);
        return chosen.error().message;
    }

    std::map<pid_t, Result<std::string>> names_;
    int names_read_ = 0;
};

TEST_F(NodeChoice, TheOnlyNodeNeedsNoName) {
    names_ = {{7, fail(ErrorCode::kPermission, "run as root")}};
    EXPECT_EQ(choose(""), 7);
    EXPECT_EQ(names_read_, 0);
}

TEST_F(NodeChoice, ByFullAndByShortName) {
    names_ = {{7, "rabbit@one"}, {8, "shop@one"}, {9, "nonode@nohost"}};
    EXPECT_EQ(choose("rabbit@one"), 7);
    EXPECT_EQ(choose("shop"), 8);
    EXPECT_THAT(refused("rabbit@two"), HasSubstr("no node is named rabbit@two; did you mean "
                                                 "rabbit@one? Running here: 7 (rabbit@one), 8 "
                                                 "(shop@one), 9 (without a name)"));
    EXPECT_THAT(refused("elsewhere"), HasSubstr("no node is named elsewhere; running here: 7"));
    EXPECT_THAT(refused("nonode"), HasSubstr("no node is named nonode"));
}

TEST_F(NodeChoice, SeveralAreListed) {
    names_ = {{7, "rabbit@one"},
              {8, "rabbit@two"},
              {9, fail(ErrorCode::kPermission, "process 9 is another user's: run as root")}};
    EXPECT_EQ(choose("rabbit@two"), 8);
    EXPECT_EQ(refused(""),
              "3 nodes run here; give the pid or the name of one: 7 (rabbit@one), 8 (rabbit@two), "
              "9 (its name cannot be read: process 9 is another user's: run as root)");
    EXPECT_EQ(refused("rabbit"),
              "2 nodes are named rabbit; give the pid or the full name of one: 7 (rabbit@one), 8 "
              "(rabbit@two)");
}

TEST_F(NodeChoice, NoneRuns) {
    EXPECT_THAT(refused("", ErrorCode::kNotABeam), HasSubstr("no Erlang VM (beam.smp) runs"));
    EXPECT_THAT(refused("rabbit", ErrorCode::kNotABeam), HasSubstr("no Erlang VM (beam.smp) runs"));
}

TEST_F(NodeChoice, ALongListIsCut) {
    for (pid_t pid = 100; pid < 125; ++pid) {
        names_.emplace(pid, "n@h");
    }
    EXPECT_THAT(refused(""), AllOf(HasSubstr("119 (n@h), 5 more")));
}

TEST(MeansNode, ByNamePatternOrPid) {
    EXPECT_TRUE(means_node("rabbit@*", "rabbit@host", 7));
    EXPECT_TRUE(means_node("rabbit?", "rabbit2@host", 7));
    EXPECT_TRUE(means_node("rabbit", "rabbit@host", 7));
    EXPECT_TRUE(means_node("7", "rabbit@host", 7));
    EXPECT_FALSE(means_node("rabbit@*", "mongoose@host", 7));
    EXPECT_FALSE(means_node("rabbit", "rabbit2@host", 7));
    EXPECT_FALSE(means_node("8", "rabbit@host", 7));
    EXPECT_FALSE(means_node("*", "nonode@nohost", 7));
    EXPECT_TRUE(means_node("nonode@*", "nonode@nohost", 7));
    EXPECT_TRUE(is_pattern("rabbit@*"));
    EXPECT_FALSE(is_pattern("rabbit@host"));
}

}  // namespace
}  // namespace beamdump::nodes
