#include "cli/crash_handler.h"

#include "support/temporary_directory.h"

#include <libdump/base/descriptor.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace beamdump::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Words = std::vector<std::string>;

TEST(CrashCommand, IsSplitWhereTheFormerPatternBegins) {
    const auto command = crash_command(
        {"--crashed", "4242", "-o", "/d", "--", "|/usr/bin/other", "-p", "4242", "--", "x"});
    ASSERT_TRUE(command);
    EXPECT_EQ(command->pid, 4242);
    EXPECT_THAT(command->capture, ElementsAre("--crashed", "4242", "-o", "/d"));
    EXPECT_THAT(command->next, ElementsAre("|/usr/bin/other", "-p", "4242", "--", "x"));
    EXPECT_EQ(command->timeout, kCrashTimeout);
    EXPECT_EQ(crash_command({"--crashed", "1", "--timeout", "7"})->timeout,
              std::chrono::seconds(7));
    EXPECT_THAT(crash_command({"--crashed", "1"})->next, IsEmpty());
}

/// Also where an option is wrong: the core is passed on.
TEST(CrashCommand, WrongOptionsArePassedToTheCapture) {
    EXPECT_TRUE(crash_command({"--no-such-option", "--crashed", "x", "--", "core"}));
    EXPECT_EQ(crash_command({"--crashed", "x"})->pid, 0);
}

TEST(CrashCommand, RefusesOtherCommandLines) {
    EXPECT_FALSE(crash_command({"4242"}));
    EXPECT_FALSE(crash_command({"--core", "core", "--", "--crashed"}));
    EXPECT_FALSE(crash_command({"--crashed", "1", "--head", "3"}));
    EXPECT_FALSE(crash_command({"--crashed", "1", "--help"}));
}

class CrashHandler : public ::testing::Test {
  protected:
    /// Handles a crash of this process, which is no VM, with that former pattern.
    int handle(const std::string& core, Words next) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe(ends.data()), 0);
        const Descriptor reading(ends[0]);
        {
            const Descriptor writing(ends[1]);
            EXPECT_GT(::fcntl(writing.get(), F_SETPIPE_SZ, 1 << 20), 0);
            EXPECT_EQ(::write(writing.get(), core.data(), core.size()),
                      static_cast<ssize_t>(core.size()));
        }
        return handle_crash({.pid = ::getpid(), .capture = {}, .next = std::move(next)},
                            reading.get());
    }
    static std::string contents(const std::filesystem::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::filesystem::path path(const char* name) { return directory_.path() / name; }

    test::TemporaryDirectory directory_;
};

TEST_F(CrashHandler, ACoreOfAnotherProgramGoesOnUnchanged) {
    const std::string core = fmt::format("{:0>300000}", "a core\n");
    const auto file = path("passed");
    EXPECT_EQ(handle(core, {"|/usr/bin/dd", "status=none", "of=" + file.native()}), 0);
    EXPECT_EQ(contents(file), core);
}

TEST_F(CrashHandler, WithoutAFormerPatternNothingIsPassed) {
    EXPECT_EQ(handle("core", {}), 0);
}

TEST_F(CrashHandler, AProgramThatReadsLittleIsNoFailure) {
    EXPECT_EQ(handle(std::string(900'000, 'x'), {"|/usr/bin/head", "-c", "1"}), 0);
}

TEST_F(CrashHandler, AProgramThatIsMissingIsAFailure) {
    EXPECT_EQ(handle("core", {"|/no/such/program"}), 1);
}

TEST_F(CrashHandler, AFileIsWrittenWhereTheLimitOfCoresPermitsIt) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_CORE, &before), 0);
    const auto limited = [&](rlim_t limit) {
        const rlimit now{limit, before.rlim_max};
        return ::setrlimit(RLIMIT_CORE, &now) == 0;
    };
    const auto file = path("core");
    ASSERT_TRUE(limited(0));
    EXPECT_EQ(handle("core", {file.native()}), 0);
    EXPECT_FALSE(std::filesystem::exists(file));
    if (before.rlim_max != RLIM_INFINITY || !limited(RLIM_INFINITY)) {
        GTEST_SKIP() << "cores of this process are limited by whoever started it";
    }
    // What a symbolic link leads to is not written to.
    std::filesystem::create_symlink(path("elsewhere"), file);
    EXPECT_EQ(handle("core", {file.native()}), 0);
    EXPECT_EQ(contents(file), "core");
    EXPECT_FALSE(std::filesystem::exists(path("elsewhere")));
    // Nor does one to a folder lead out of the process's directory.
    const test::TemporaryDirectory outside;
    std::filesystem::create_directory_symlink(outside.path(), path("away"));
    const auto back = std::filesystem::current_path();
    std::filesystem::current_path(directory_.path());
    EXPECT_EQ(handle("core", {"away/core"}), 1);
    EXPECT_TRUE(std::filesystem::is_empty(outside.path()));
    std::filesystem::remove(file);
    EXPECT_EQ(handle("core", {"core"}), 0);
    EXPECT_EQ(contents(file), "core");
    std::filesystem::current_path(back);
    EXPECT_EQ(::setrlimit(RLIMIT_CORE, &before), 0);
}

TEST_F(CrashHandler, TheOldestDumpsGo) {
    const auto folder = path("dumps");
    ASSERT_TRUE(crash_output(folder, 1, 2, 0));
    const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    for (int number = 0; number < 4; ++number) {
        const auto file = folder / fmt::format("crash-{}-t.beamdump", number);
        std::ofstream(file) << "dump";
        std::filesystem::last_write_time(file, old - std::chrono::minutes(number));
    }
    std::ofstream(folder / "rabbit@host-t-memory.beamdump") << "of beamdump-watch";
    const auto output = crash_output(folder, 4242, 2, 0);
    ASSERT_TRUE(output) << output.error().message;
    EXPECT_THAT(output->path.filename().native(), HasSubstr("crash-4242-"));
    std::vector<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        left.push_back(entry.path().filename().native());
    }
    EXPECT_THAT(left, ::testing::UnorderedElementsAre("crash-0-t.beamdump",
                                                      "rabbit@host-t-memory.beamdump"));
}

TEST_F(CrashHandler, TheDisksReserveIsKept) {
    const auto space = std::filesystem::space(directory_.path());
    const auto refused = crash_output(directory_.path(), 1, 2, space.capacity);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kNoSpace);
    const auto output = crash_output(directory_.path(), 1, 2, space.available / 2);
    ASSERT_TRUE(output);
    EXPECT_LE(output->most_bytes, space.available);
}

}  // namespace
}  // namespace beamdump::cli
