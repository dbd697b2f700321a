#include "cli/memory_plan.h"

#include "support/cgroup_tree.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace beamdump::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;

/// A process in a cgroup of version 2 whose parent's limit leaves so much.
class Plan : public ::testing::Test {
  protected:
    Result<void> plan(std::uint64_t left) {
        tree_.file("sys/fs/cgroup/app.slice/memory.max", fmt::format("{}\n", 1024 * kMebibyte));
        tree_.file("sys/fs/cgroup/app.slice/memory.current",
                   fmt::format("{}\n", 1024 * kMebibyte - left));
        tree_.file("sys/fs/cgroup/app.slice/memory.stat", "inactive_file 0\n");
        return plan_memory(options_, tree_.room());
    }
    static Options two_threads() {
        Options options;
        options.writer.level = 3;
        options.writer.threads = 2;
        return options;
    }
    test::UnifiedTree tree_;
    Options options_ = two_threads();
};

TEST_F(Plan, AsUsualWhereEnoughIsLeft) {
    ASSERT_TRUE(plan(500 * kMebibyte));
    EXPECT_FALSE(options_.small || options_.memory);
    EXPECT_EQ(options_.writer.threads, 2U);
    EXPECT_EQ(options_.capture.sizes.cache_blocks, memory::HeldSizes{}.cache_blocks);
    EXPECT_THAT(plan_text(options_), HasSubstr("500.0 MiB are left: memory.max of cgroup"));
}

TEST_F(Plan, SmallWhereLittleIsLeft) {
    ASSERT_TRUE(plan(24 * kMebibyte));
    EXPECT_TRUE(options_.small);
    EXPECT_EQ(options_.memory, kLeastMemory);
    EXPECT_EQ(options_.writer.threads, 1U);
    EXPECT_EQ(options_.writer.level, 1);
    EXPECT_FALSE(options_.capture.read_ahead);
    EXPECT_EQ(options_.capture.sizes.cache_blocks, memory::kSmallSizes.cache_blocks);
    EXPECT_EQ(options_.capture.own_bytes, kLeastMemory);
    EXPECT_THAT(options_.memory_plan,
                AllOf(HasSubstr("at most 12.0 MiB"), HasSubstr("24.0 MiB are left: memory.max")));
}

TEST_F(Plan, RefusedWhereNotEvenThatIsLeft) {
    const auto refused = plan(11 * kMebibyte);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
    EXPECT_THAT(refused.error().message,
                AllOf(HasSubstr("needs 12.0 MiB of memory, and 11.0 MiB are left: memory.max of "
                                "cgroup /app.slice is 1024.0 MiB"),
                      HasSubstr("on the container's host"), Not(HasSubstr("\n"))));
}

TEST_F(Plan, AsGiven) {
    options_.memory = 20 * kMebibyte;
    ASSERT_TRUE(plan(500 * kMebibyte));
    EXPECT_TRUE(options_.small);
    EXPECT_EQ(options_.memory, 20 * kMebibyte);
    EXPECT_THAT(options_.memory_plan, HasSubstr("since --memory is 20.0 MiB"));
}

TEST_F(Plan, NeverMoreThanIsLeft) {
    options_.memory = 20 * kMebibyte;
    ASSERT_TRUE(plan(15 * kMebibyte));
    EXPECT_EQ(options_.memory, 15 * kMebibyte);
}

TEST_F(Plan, EnoughIsGiven) {
    options_.memory = 200 * kMebibyte;
    ASSERT_TRUE(plan(500 * kMebibyte));
    EXPECT_FALSE(options_.small);
    EXPECT_EQ(options_.memory, 200 * kMebibyte);
    EXPECT_EQ(options_.writer.threads, 2U);
}

TEST_F(Plan, NoSamplesInLittle) {
    options_.profile = std::chrono::seconds(1);
    const auto refused = plan(24 * kMebibyte);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("--profile takes more memory"));
}

}  // namespace
}  // namespace beamdump::cli
