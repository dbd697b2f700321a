#include "target/head_room.h"

#include "support/temporary_directory.h"
#include "target/cgroup_paths.h"
#include "target/twin_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace beamdump::target {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMebibyte = 1U << 20U;
constexpr auto kUnified =
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr auto kVersion1 =
    "24 23 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "35 31 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
    "39 31 0:36 /docker/1f /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n";

/// A made-up root of the file system.
class Tree {
  public:
    Tree() {
        file("proc/meminfo",
             "MemTotal: 8388608 kB\nMemFree: 10 kB\nMemAvailable: 4194304 kB\n"
             "CommitLimit: 4194304 kB\nCommitted_AS: 3145728 kB\n");
        file("proc/sys/vm/overcommit_memory", "0\n");
    }
    void file(const std::filesystem::path& name, std::string_view text) const {
        const auto path = root() / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    [[nodiscard]] std::filesystem::path root() const { return directory_.path(); }
    [[nodiscard]] HeadRoom room(pid_t pid = 7) const { return HeadRoom::of(pid, root()).value(); }

  private:
    test::TemporaryDirectory directory_;
};

/// In a service of its own below a slice with a limit.
class UnifiedTree : public Tree {
  public:
    UnifiedTree() {
        file("proc/self/mountinfo", kUnified);
        file("proc/7/cgroup", "0::/app.slice/node.service\n");
        file("sys/fs/cgroup/app.slice/memory.max", "1073741824\n");
        file("sys/fs/cgroup/app.slice/memory.high", "max\n");
        file("sys/fs/cgroup/app.slice/memory.current", "1006632960\n");  // 960 MiB
        file("sys/fs/cgroup/app.slice/memory.stat", "anon 5\ninactive_file 33554432\n");
        file("sys/fs/cgroup/app.slice/memory.oom.group", "0\n");
        file("sys/fs/cgroup/app.slice/pids.max", "max\n");
        file("sys/fs/cgroup/app.slice/pids.current", "40\n");
        const std::string service = "sys/fs/cgroup/app.slice/node.service/";
        file(service + "memory.max", "max\n");
        file(service + "memory.high", "max\n");
        file(service + "memory.current", "1000\n");
        file(service + "pids.max", "21\n");
        file(service + "pids.current", "20\n");
    }
};

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

TEST(HeadRoom, MemoryHighLimitsToo) {
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

TEST(HeadRoom, WithoutCgroupsTheMachineCounts) {
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

TEST(HeadRoom, WhatIsNotUnderstoodIsAnError) {
    const UnifiedTree tree;
    tree.file("sys/fs/cgroup/app.slice/memory.max", "plenty\n");
    const auto room = tree.room().memory();
    ASSERT_FALSE(room);
    EXPECT_EQ(room.error().code, ErrorCode::kImplausible);
    EXPECT_THAT(room.error().message,
                HasSubstr("app.slice/memory.max is not understood: \"plenty"));
    tree.file("proc/meminfo", "");
    EXPECT_FALSE(tree.room().memory());
}

TEST(HeadRoom, OfAProcessThatIsGone) {
    const Tree tree;
    EXPECT_EQ(HeadRoom::of(8, tree.root()).error().code, ErrorCode::kTargetDied);
}

TEST(HeadRoom, PromisesCountOnlyWithoutOvercommit) {
    const UnifiedTree tree;
    EXPECT_EQ(tree.room().promises()->amount, std::numeric_limits<std::uint64_t>::max());
    tree.file("proc/sys/vm/overcommit_memory", "2\n");
    EXPECT_EQ(tree.room().promises()->amount, 1024 * kMebibyte);
}

TEST(HeadRoom, OfThisMachineCanBeRead) {
    const auto room = HeadRoom::of(::getpid());
    ASSERT_TRUE(room) << room.error().message;
    const auto memory = room->memory();
    ASSERT_TRUE(memory) << memory.error().message;
    EXPECT_GT(memory->amount, 0U);
    EXPECT_TRUE(room->tasks());
    EXPECT_TRUE(room->promises());
}

constexpr auto kStatus =
    "Name:\tbeam.smp\nVmRSS:\t 1048576 kB\nVmData:\t 2097152 kB\nVmPTE:\t 2048 kB\n";

TEST(TwinNeeds, AnEighthOfWhatIsResidentWithinBounds) {
    const auto needs = twin_needs(kStatus, {}).value();
    EXPECT_EQ(needs.page_table_bytes, 2 * kMebibyte);
    EXPECT_EQ(needs.copied_bytes, 128 * kMebibyte);
    EXPECT_EQ(needs.promised_bytes, 2048 * kMebibyte);
    EXPECT_EQ(twin_needs("\nVmRSS: 1 kB\nVmData: 1 kB\nVmPTE: 1 kB\n", {})->copied_bytes,
              64 * kMebibyte);
    EXPECT_EQ(twin_needs("\nVmRSS: 99999999 kB\nVmData: 1 kB\nVmPTE: 1 kB\n", {})->copied_bytes,
              1024 * kMebibyte);
    TwinLimits limits;
    limits.copied_bytes = 5;
    EXPECT_EQ(twin_needs(kStatus, limits)->copied_bytes, 5U);
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
    EXPECT_THAT(refused.error().message, HasSubstr("would end the node"));
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
    EXPECT_THAT(refused.error().message, HasSubstr("1024.0 MiB may still be promised"));
}

}  // namespace
}  // namespace beamdump::target
