#include "support/cgroup_tree.h"

#include <libvm/target/process/cgroups.h>
#include <libvm/target/process/head_room.h>
#include <libvm/target/twin/twin_needs.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::target {
namespace {

using test::kUnified;
using test::kVersion1;
using test::Tree;
using test::UnifiedTree;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMebibyte = 1U << 20U;
TEST(CgroupPaths, MountsAreReadFromMountinfo) {
    const auto mounts = parse_cgroup_mounts(std::string(kVersion1) + kUnified);
    ASSERT_EQ(mounts.size(), 3U);
    EXPECT_EQ(mounts[0].root, "/docker/1f");
    EXPECT_EQ(mounts[0].point, "/sys/fs/cgroup/memory");
    EXPECT_FALSE(mounts[0].unified);
    EXPECT_THAT(mounts[0].options, ElementsAre("rw", "memory"));
    EXPECT_TRUE(mounts[2].unified);
    EXPECT_EQ(parse_cgroup_mounts("1 2 0:1 / /a\\040b rw - cgroup2 cgroup2 rw\n")[0].point, "/a b");
    EXPECT_THAT(parse_cgroup_mounts("1 2 - cgroup2 x y\nnonsense\n\n"), IsEmpty());
}

TEST(CgroupPaths, MembershipsOfBothVersions) {
    const auto memberships =
        parse_cgroup_memberships("4:cpu,cpuacct:/a\n9:name=systemd:/\n0::/b:c\nnonsense\n");
    ASSERT_EQ(memberships.size(), 3U);
    EXPECT_THAT(memberships[0].controllers, ElementsAre("cpu", "cpuacct"));
    EXPECT_EQ(memberships[0].path, "/a");
    EXPECT_THAT(memberships[2].controllers, IsEmpty());
    EXPECT_EQ(memberships[2].path, "/b:c");
}

TEST(CgroupPaths, DirectoriesFromTheLowestToTheMountPoint) {
    const CgroupMount whole{"/", "/cg", true, {}};
    EXPECT_THAT(cgroup_directories(whole, "/a/b"), ElementsAre("/cg/a/b", "/cg/a", "/cg"));
    EXPECT_THAT(cgroup_directories(whole, "/"), ElementsAre("/cg"));
    const CgroupMount part{"/docker/1f", "/cg", true, {}};
    EXPECT_THAT(cgroup_directories(part, "/docker/1f/x"), ElementsAre("/cg/x", "/cg"));
    EXPECT_THAT(cgroup_directories(part, "/docker/1f"), ElementsAre("/cg"));
    EXPECT_THAT(cgroup_directories(part, "/docker/1f2"), IsEmpty());
    EXPECT_THAT(cgroup_directories(whole, "/../other"), IsEmpty());
}

TEST(HeadRoom, TheTightestOfAllLevelsCounts) {
    const UnifiedTree tree;
    const auto room = tree.room().memory().value();
    EXPECT_EQ(room.amount, 96 * kMebibyte);  // 1024 - 960, and 32 of page cache
    EXPECT_EQ(room.limit, "memory.max of cgroup /app.slice is 1024.0 MiB");
    EXPECT_FALSE(room.ends_group);
}

TEST(HeadRoom, PageCacheIsOnlyLookedAtWhereItIsNeeded) {
    const UnifiedTree tree;
    EXPECT_EQ(tree.room().memory(64 * kMebibyte)->amount, 64 * kMebibyte);
    EXPECT_EQ(tree.room().memory(65 * kMebibyte)->amount, 96 * kMebibyte);
}

TEST(HeadRoom, MemoryHighIsALimit) {
    const UnifiedTree tree;
    tree.file("sys/fs/cgroup/app.slice/node.service/memory.high", "2048\n");
    tree.file("sys/fs/cgroup/app.slice/node.service/memory.oom.group", "1\n");
    const auto room = tree.room().memory().value();
    EXPECT_EQ(room.amount, 1048U);
    EXPECT_THAT(room.limit, HasSubstr("memory.high of cgroup /app.slice/node.service"));
    EXPECT_TRUE(room.ends_group);
}

TEST(HeadRoom, MoreUsedThanAllowedIsNoRoom) {
    const UnifiedTree tree;
    tree.file("sys/fs/cgroup/app.slice/node.service/memory.high", "500\n");
    EXPECT_EQ(tree.room().memory()->amount, 0U);
}

TEST(HeadRoom, IsThatOfTheMachineWithoutCgroups) {
    const Tree tree;
    tree.file("proc/self/mountinfo", "");
    tree.file("proc/7/cgroup", "0::/x\n");
    const auto room = tree.room().memory().value();
    EXPECT_EQ(room.amount, 4096 * kMebibyte);
    EXPECT_THAT(room.limit, HasSubstr("MemAvailable"));
    EXPECT_EQ(tree.room().tasks()->amount, std::numeric_limits<std::uint64_t>::max());
}

TEST(HeadRoom, Version1IsReadBelowTheContainersMount) {
    const Tree tree;
    tree.file("proc/self/mountinfo", kVersion1);
    tree.file("proc/7/cgroup", "8:pids:/docker/1f\n4:memory:/docker/1f/node\n0::/\n");
    tree.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    tree.file("sys/fs/cgroup/memory/memory.usage_in_bytes", "5000\n");
    tree.file("sys/fs/cgroup/memory/node/memory.limit_in_bytes", "104857600\n");
    tree.file("sys/fs/cgroup/memory/node/memory.usage_in_bytes", "83886080\n");
    tree.file("sys/fs/cgroup/memory/node/memory.stat",
              "inactive_file 1\ntotal_inactive_file 1048576\n");
    tree.file("sys/fs/cgroup/pids/pids.max", "100\n");
    tree.file("sys/fs/cgroup/pids/pids.current", "95\n");
    EXPECT_EQ(tree.room().memory()->amount, 21 * kMebibyte);
    EXPECT_EQ(tree.room().tasks()->amount, 5U);
}

TEST(HeadRoom, KeptFilesAreOpenedOnce) {
    const UnifiedTree tree;
    const auto kept = std::make_shared<target::KeptFiles>();
    const auto room = HeadRoom::kept(7, kept, tree.root()).value();
    EXPECT_EQ(room.limited_memory()->name, "/app.slice");
    EXPECT_EQ(room.limited_memory()->inactive_file_bytes, 32 * kMebibyte);
    const auto opened = kept->opened();
    tree.file("sys/fs/cgroup/app.slice/memory.current", "1024\n");
    EXPECT_EQ(room.limited_memory()->used_bytes, 1024U);
    EXPECT_EQ(room.limited_memory()->limit_bytes, 1024 * kMebibyte);
    EXPECT_TRUE(room.holds());
    EXPECT_EQ(kept->opened(), opened);
}

TEST(HeadRoom, NoLongerHoldsWhenTheProcessIsMoved) {
    const UnifiedTree tree;
    const auto room = HeadRoom::kept(7, std::make_shared<target::KeptFiles>(), tree.root()).value();
    tree.file("proc/7/cgroup", "0::/app.slice\n");
    EXPECT_FALSE(room.holds());
}

TEST(HeadRoom, TheLowestCgroupThatCountsSaysHowOftenItsLimitWasReached) {
    const UnifiedTree tree;
    EXPECT_EQ(tree.room().limit_reached(), std::nullopt);
    tree.file("sys/fs/cgroup/app.slice/memory.events", "high 4\nmax 3\n");
    EXPECT_EQ(tree.room().limit_reached(), 3U);
    EXPECT_EQ(tree.room().oom_kills(), std::nullopt);
    tree.file("sys/fs/cgroup/app.slice/memory.events", "oom 2\noom_kill 1\noom_group_kill 0\n");
    EXPECT_EQ(tree.room().oom_kills(), 1U);
}

TEST(HeadRoom, ReadsTheCountersOfEachCgroup) {
    const UnifiedTree tree;
    const std::string service = "sys/fs/cgroup/app.slice/node.service/";
    tree.file(service + "memory.events", "low 0\nhigh 4\nmax 3\noom 2\noom_kill 1\n");
    tree.file(service + "memory.swap.current", "8192\n");
    const auto cgroups = tree.room().memory_cgroups();
    ASSERT_EQ(cgroups.size(), 2U);  // the topmost has no files
    EXPECT_EQ(cgroups[0].name, "/app.slice/node.service");
    EXPECT_EQ(cgroups[0].used_bytes, 1000U);
    EXPECT_EQ(cgroups[0].inactive_file_bytes, std::nullopt);
    EXPECT_EQ(cgroups[0].limit_bytes, std::nullopt);
    EXPECT_EQ(cgroups[0].swap_bytes, 8192U);
    EXPECT_EQ(cgroups[0].oom_kills, 1U);
    EXPECT_EQ(cgroups[0].limit_reached, 3U);
    EXPECT_EQ(cgroups[1].name, "/app.slice");
    EXPECT_EQ(cgroups[1].used_bytes, 960 * kMebibyte);
    EXPECT_EQ(cgroups[1].inactive_file_bytes, 32 * kMebibyte);
    EXPECT_EQ(cgroups[1].limit_bytes, 1024 * kMebibyte);
    EXPECT_EQ(cgroups[1].oom_kills, std::nullopt);
}

TEST(HeadRoom, ReadsTheCountersOfVersion1) {
    const Tree tree;
    tree.file("proc/self/mountinfo", kVersion1);
    tree.file("proc/7/cgroup", "4:memory:/docker/1f/node\n");
    const std::string node = "sys/fs/cgroup/memory/node/";
    tree.file(node + "memory.limit_in_bytes", "9223372036854771712\n");
    tree.file(node + "memory.usage_in_bytes", "83886080\n");
    tree.file(node + "memory.stat", "inactive_file 1\ntotal_inactive_file 1048576\ntotal_swap 5\n");
    tree.file(node + "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    tree.file(node + "memory.failcnt", "7\n");
    const auto cgroups = tree.room().memory_cgroups();
    ASSERT_EQ(cgroups.size(), 1U);
    EXPECT_EQ(cgroups[0].used_bytes, 80 * kMebibyte);
    EXPECT_EQ(cgroups[0].inactive_file_bytes, kMebibyte);
    EXPECT_EQ(cgroups[0].limit_bytes, std::nullopt);
    EXPECT_EQ(cgroups[0].swap_bytes, 5U);
    EXPECT_EQ(cgroups[0].oom_kills, 2U);
    EXPECT_EQ(cgroups[0].limit_reached, 7U);
}

TEST(HeadRoom, RefusesWhatItDoesNotUnderstand) {
    const UnifiedTree tree;
    tree.file("sys/fs/cgroup/app.slice/memory.max", "plenty\n");
    const auto room = tree.room().memory();
    ASSERT_FALSE(room);
    EXPECT_EQ(room.error().code, ErrorCode::kImplausible);
    EXPECT_THAT(room.error().message, HasSubstr("memory.max: \"plenty"));
    tree.file("proc/meminfo", "");
    EXPECT_FALSE(tree.room().memory());
}

TEST(HeadRoom, IsAnErrorForAProcessThatIsGone) {
    const Tree tree;
    EXPECT_EQ(HeadRoom::of(8, tree.root()).error().code, ErrorCode::kTargetDied);
}

TEST(HeadRoom, PromisesCountOnlyWithoutOvercommit) {
    const UnifiedTree tree;
    EXPECT_EQ(tree.room().committable_bytes()->amount, std::numeric_limits<std::uint64_t>::max());
    tree.file("proc/sys/vm/overcommit_memory", "2\n");
    EXPECT_EQ(tree.room().committable_bytes()->amount, 1024 * kMebibyte);
}

TEST(HeadRoom, ReadsThatOfThisMachine) {
    const auto room = HeadRoom::of(::getpid());
    ASSERT_TRUE(room) << room.error().message;
    const auto memory = room->memory();
    ASSERT_TRUE(memory) << memory.error().message;
    EXPECT_GT(memory->amount, 0U);
    EXPECT_TRUE(room->tasks());
    EXPECT_TRUE(room->committable_bytes());
}

constexpr auto kMemoryStatus =
    "Name:\tbeam.smp\nVmRSS:\t 1048576 kB\nVmData:\t 2097152 kB\nVmPTE:\t 2048 kB\n";

TEST(TwinNeeds, AnEighthOfWhatIsResidentWithinBounds) {
    const auto needs = twin_needs(kMemoryStatus, {}).value();
    EXPECT_EQ(needs.page_table_bytes, 2 * kMebibyte);
    EXPECT_EQ(needs.copied_bytes, 128 * kMebibyte);
    EXPECT_EQ(needs.promised_bytes, 2048 * kMebibyte);
    EXPECT_EQ(twin_needs("\nVmRSS: 1 kB\nVmData: 1 kB\nVmPTE: 1 kB\n", {})->copied_bytes,
              64 * kMebibyte);
    EXPECT_EQ(twin_needs("\nVmRSS: 99999999 kB\nVmData: 1 kB\nVmPTE: 1 kB\n", {})->copied_bytes,
              1024 * kMebibyte);
    TwinLimits limits;
    limits.copied_bytes = 5;
    EXPECT_EQ(twin_needs(kMemoryStatus, limits)->copied_bytes, 5U);
    EXPECT_FALSE(twin_needs("Name: x\nVmRSS: 1 kB\n", {}));
}

TEST(TwinNeeds, TooLittleMemoryIsRefusedWithTheReason) {
    const UnifiedTree tree;
    tree.file("sys/fs/cgroup/app.slice/node.service/pids.max", "max\n");
    tree.file("sys/fs/cgroup/app.slice/memory.oom.group", "1\n");
    tree.file("proc/9/cgroup", "0::/other\n");
    const TwinNeeds needs{kMebibyte, 95 * kMebibyte, 0};
    EXPECT_TRUE(check_needs(needs, tree.room(), tree.room(9), kMebibyte));
    const TwinNeeds more{kMebibyte, 96 * kMebibyte, 0};
    const auto refused = check_needs(more, tree.room(), tree.room(9), kMebibyte);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
    EXPECT_THAT(refused.error().message, HasSubstr("may need 97.0 MiB, and 96.0 MiB are left"));
    EXPECT_THAT(refused.error().message,
                HasSubstr("memory.max of cgroup /app.slice is 1024.0 MiB"));
    EXPECT_THAT(refused.error().message, HasSubstr("would kill the node"));
    // Where both are below the same limit, both must find room.
    tree.file("proc/9/cgroup", "0::/app.slice/shell.scope\n");
    const auto together = check_needs(needs, tree.room(), tree.room(9), kMebibyte);
    ASSERT_FALSE(together);
    EXPECT_THAT(together.error().message,
                HasSubstr("and this program (1.0 MiB) together may need 97.0 MiB"));
}

TEST(TwinNeeds, TooFewTasksAreRefused) {
    const UnifiedTree tree;
    tree.file("proc/9/cgroup", "0::/other\n");
    const auto refused = check_needs({0, 0, 0}, tree.room(), tree.room(9), 0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
    EXPECT_THAT(refused.error().message, HasSubstr("pids.max of cgroup /app.slice/node.service"));
}

TEST(TwinNeeds, WithoutOvercommitAllMustBePromised) {
    const UnifiedTree tree;
    tree.file("sys/fs/cgroup/app.slice/node.service/pids.max", "max\n");
    tree.file("proc/sys/vm/overcommit_memory", "2\n");
    EXPECT_TRUE(check_needs({0, 0, 1024 * kMebibyte}, tree.room(), tree.room(), 0));
    const auto refused = check_needs({0, 0, 1025 * kMebibyte}, tree.room(), tree.room(), 0);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("1024.0 MiB can still be committed"));
}

}  // namespace
}  // namespace beamdump::target
