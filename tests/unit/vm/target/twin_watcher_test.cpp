#include "support/cgroup_tree.h"
#include "support/child_process.h"

#include <libvm/target/process/proc_directory.h>
#include <libvm/target/twin/twin_watcher.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::target {
namespace {

using test::ChildProcess;
using test::UnifiedTree;
using ::testing::HasSubstr;

constexpr std::uint64_t kWatchedMebibyte = 1U << 20U;

bool ends(pid_t pid) {
    for (int i = 0; i < 10000; ++i) {
        const auto facts = process_facts(pid);
        if (!facts || facts->dead()) {
            return true;
        }
        ::usleep(1000);
    }
    return false;
}

TEST(TwinWatcher, EndsTheTwinWhenMemoryRunsShort) {
    const UnifiedTree tree;
    const ChildProcess twin([] {});
    const TwinWatcher watcher(::getpid(), twin.pid(),
                              {tree.room(), tree.room(), 64 * kWatchedMebibyte});
    ::usleep(30'000);
    EXPECT_TRUE(watcher.verdict());
    EXPECT_FALSE(process_facts(twin.pid())->dead());
    tree.file("sys/fs/cgroup/app.slice/memory.current", "1063256064\n");  // 1014 MiB
    EXPECT_TRUE(ends(twin.pid()));
    const auto verdict = watcher.verdict();
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().code, ErrorCode::kLimit);
    EXPECT_THAT(verdict.error().message, HasSubstr(fmt::format("process {} needs ", ::getpid())));
    EXPECT_THAT(verdict.error().message, HasSubstr("/app.slice"));
}

TEST(TwinWatcher, EndsTheTwinWhenNothingCanBeKnown) {
    const UnifiedTree tree;
    const ChildProcess twin([] {});
    const TwinWatcher watcher(::getpid(), twin.pid(), {tree.room(), tree.room(), kWatchedMebibyte});
    tree.file("sys/fs/cgroup/app.slice/memory.current", "much\n");
    EXPECT_TRUE(ends(twin.pid()));
    EXPECT_FALSE(watcher.verdict());
}

TEST(TwinWatcher, EndsTheTwinWhenTheNodeEnds) {
    const UnifiedTree tree;
    ChildProcess node([] {});
    const ChildProcess twin([] {});
    const TwinWatcher watcher(node.pid(), twin.pid(), {tree.room(), tree.room(), 0});
    ::usleep(30'000);
    EXPECT_FALSE(process_facts(twin.pid())->dead());
    node.kill();
    EXPECT_TRUE(ends(twin.pid()));
    EXPECT_TRUE(watcher.verdict());
}

TEST(TwinWatcher, EndsTheTwinOfANodeThatHasEnded) {
    const UnifiedTree tree;
    ChildProcess node([] {});
    const pid_t pid = node.pid();
    node.kill();
    const ChildProcess twin([] {});
    const TwinWatcher watcher(pid, twin.pid(), {tree.room(), tree.room(), 0});
    EXPECT_TRUE(ends(twin.pid()));
}

TEST(TwinWatcher, LeavesTheTwinAloneOtherwise) {
    const UnifiedTree tree;
    const ChildProcess twin([] {});
    {
        const TwinWatcher watcher(::getpid(), twin.pid(),
                                  {tree.room(), tree.room(), kWatchedMebibyte});
    }
    tree.file("sys/fs/cgroup/app.slice/memory.current", "1073741824\n");
    ::usleep(30'000);
    EXPECT_FALSE(process_facts(twin.pid())->dead());
}

}  // namespace
}  // namespace beamdump::target
