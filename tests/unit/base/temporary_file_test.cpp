#include <libdump/base/budget.h>
#include <libdump/base/temporary_file.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace beamdump {
namespace {

using ::testing::HasSubstr;

/// Sets TMPDIR for one test.
class TemporaryDirectorySet {
  public:
    explicit TemporaryDirectorySet(const char* directory) {
        if (const char* before = std::getenv("TMPDIR"); before != nullptr) {
            before_ = before;
        }
        ::setenv("TMPDIR", directory, 1);
    }
    TemporaryDirectorySet(const TemporaryDirectorySet&) = delete;
    TemporaryDirectorySet& operator=(const TemporaryDirectorySet&) = delete;
    ~TemporaryDirectorySet() {
        if (before_) {
            ::setenv("TMPDIR", before_->c_str(), 1);
        } else {
            ::unsetenv("TMPDIR");
        }
    }

  private:
    std::optional<std::string> before_;
};

std::vector<std::byte> bytes_to(std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::size_t at = 0; at < count; ++at) {
        bytes[at] = static_cast<std::byte>(at * 7 % 251);
    }
    return bytes;
}

void expect_has(TemporaryFile file, const std::vector<std::byte>& bytes) {
    ASSERT_EQ(file.size(), bytes.size());
    const auto descriptor = std::move(file).take();
    std::vector<std::byte> got(bytes.size() + 1);
    EXPECT_EQ(::pread(descriptor.get(), got.data(), got.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    got.resize(bytes.size());
    EXPECT_EQ(got, bytes);
}

// Where there are files in memory (libdump/base/system).
#ifndef BEAMDUMP_POSIX
TEST(TemporaryFile, NeedsNoDirectoryForSmallData) {
    const TemporaryDirectorySet set("/proc/no-such-directory");
    auto file = TemporaryFile::create();
    ASSERT_TRUE(file) << file.error().message;
    const auto bytes = bytes_to(TemporaryFile::kHeldBytes);
    ASSERT_TRUE(file->append(bytes));
    const auto more = file->append(bytes_to(1));
    ASSERT_FALSE(more);
    EXPECT_THAT(more.error().message, HasSubstr("in /proc/no-such-directory"));
    EXPECT_THAT(more.error().message, HasSubstr("set TMPDIR"));
    expect_has(*std::move(file), bytes);
}
#endif

TEST(TemporaryFile, HasAllBytesOfLargeData) {
    auto file = TemporaryFile::create();
    ASSERT_TRUE(file) << file.error().message;
    const auto bytes = bytes_to(TemporaryFile::kHeldBytes + 4321);
    for (std::size_t at = 0; at < bytes.size(); at += 1U << 20U) {
        const auto rest = std::span(bytes).subspan(at);
        ASSERT_TRUE(file->append(rest.first(std::min<std::size_t>(rest.size(), 1U << 20U))));
    }
    expect_has(*std::move(file), bytes);
}

TEST(TemporaryFile, NamesTheDirectoryThatTakesNoMore) {
    auto file = TemporaryFile::create();
    ASSERT_TRUE(file) << file.error().message;
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = TemporaryFile::kHeldBytes + 100, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    const auto refused = file->append(bytes_to(TemporaryFile::kHeldBytes + 101));
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kNoSpace);
    EXPECT_THAT(refused.error().message, HasSubstr("temporary file in " + temporary_directory()));
    EXPECT_THAT(refused.error().message, HasSubstr("free space there, or set TMPDIR"));
}

TEST(Budget, LeavesRoomForSmallDataWhereTheDirectoryIsFull) {
    const TemporaryDirectorySet set("/proc");  // no byte is free there
    Budget budget;
    EXPECT_TRUE(budget.take_temporary(1U << 20U));
    const auto refused = budget.take_temporary(std::uint64_t{1} << 30U);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kNoSpace);
    EXPECT_THAT(refused.error().message, HasSubstr("/proc has only 0 B free"));
}

}  // namespace
}  // namespace beamdump
