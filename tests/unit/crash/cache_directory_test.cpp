#include "support/temporary_directory.h"

#include <libdump/base/temporary_file.h>
#include <libdump/crash/cache/cache_directory.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace beamdump::crash {
namespace {

namespace fs = std::filesystem;

class CacheDirectoryTest : public ::testing::Test {
  protected:
    CacheDirectory open(std::uint64_t max_bytes = 1000) {
        auto opened = CacheDirectory::open(path_, max_bytes);
        EXPECT_TRUE(opened) << opened.error().message;
        return *std::move(opened);
    }
    static Descriptor file_of(std::string_view content) {
        auto file = open_temporary_file();
        EXPECT_TRUE(file);
        EXPECT_EQ(::write(file->get(), content.data(), content.size()),
                  static_cast<ssize_t>(content.size()));
        return *std::move(file);
    }
    static Result<void> store(const CacheDirectory& cache, const std::string& name,
                              std::string_view content) {
        const auto file = file_of(content);
        return cache.store(name, file.get(), content.size());
    }
    static std::string load(const CacheDirectory& cache, const std::string& name) {
        auto file = open_temporary_file();
        const auto bytes = cache.load(name, file->get());
        if (!bytes) {
            EXPECT_EQ(bytes.error().code, ErrorCode::kNotFound);
            return "none";
        }
        std::string content(*bytes, '\0');
        EXPECT_EQ(::pread(file->get(), content.data(), content.size(), 0),
                  static_cast<ssize_t>(content.size()));
        EXPECT_EQ(::lseek(file->get(), 0, SEEK_END), static_cast<off_t>(*bytes));
        return content;
    }
    [[nodiscard]] std::vector<fs::path> files() const {
        std::vector<fs::path> all;
        std::ranges::transform(fs::directory_iterator(path_), std::back_inserter(all),
                               [](const auto& entry) { return entry.path(); });
        return all;
    }
    void used(const std::string& name, int hours_ago) {
        for (const auto& file : files()) {
            if (file.filename().string().starts_with(name)) {
                fs::last_write_time(
                    file, fs::file_time_type::clock::now() - std::chrono::hours(hours_ago));
            }
        }
    }

    beamdump::test::TemporaryDirectory directory_;
    fs::path path_ = directory_.path() / "missing" / "beamdump";
};

TEST_F(CacheDirectoryTest, LoadsWhatWasStoredLast) {
    const auto cache = open();
    EXPECT_EQ(load(cache, "one"), "none");
    ASSERT_TRUE(store(cache, "one", "first"));
    ASSERT_TRUE(store(cache, "other", "another"));
    ASSERT_TRUE(store(cache, "one", "second"));
    EXPECT_EQ(load(cache, "one"), "second");
    EXPECT_EQ(load(cache, "other"), "another");
    EXPECT_EQ(files().size(), 2U);
    cache.remove("one");
    EXPECT_EQ(load(cache, "one"), "none");
}

TEST_F(CacheDirectoryTest, ThrowsAwayWhatItsChecksumDoesNotHold) {
    const auto cache = open();
    ASSERT_TRUE(store(cache, "one", "content"));
    std::ofstream(files().front(), std::ios::binary) << "Content";
    EXPECT_EQ(load(cache, "one"), "none");
    EXPECT_TRUE(files().empty());
}

TEST_F(CacheDirectoryTest, RemovesWhatWasNotUsedForLongest) {
    const auto cache = open(1000);
    const std::string content(400, 'x');
    ASSERT_TRUE(store(cache, "one", content));
    ASSERT_TRUE(store(cache, "two", content));
    used("one", 1);
    used("two", 2);
    EXPECT_EQ(load(cache, "two"), content);
    ASSERT_TRUE(store(cache, "three", content));
    EXPECT_EQ(load(cache, "one"), "none");
    EXPECT_EQ(load(cache, "two"), content);
    EXPECT_EQ(load(cache, "three"), content);
}

TEST_F(CacheDirectoryTest, RefusesWhatIsTooLarge) {
    const auto cache = open(1000);
    const auto stored = store(cache, "one", std::string(501, 'x'));
    ASSERT_FALSE(stored);
    EXPECT_EQ(stored.error().code, ErrorCode::kLimit);
    EXPECT_TRUE(files().empty());
}

TEST_F(CacheDirectoryTest, LeavesNothingWhereItCannotWrite) {
    const auto cache = open(1U << 20U);
    const std::string content(100'000, 'x');
    const auto file = file_of(content);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit small{50'000, before.rlim_max};
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto stored = cache.store("one", file.get(), content.size());
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    EXPECT_FALSE(stored);
    EXPECT_TRUE(files().empty());
}

TEST_F(CacheDirectoryTest, RemovesWhatAKilledProgramLeft) {
    const auto cache = open();
    ASSERT_TRUE(store(cache, "one", "content"));
    std::ofstream(path_ / "two-abcdef.unfinished") << "left";
    std::ofstream(path_ / "three-abcdef.unfinished") << "being written";
    used("two", 2);
    ASSERT_TRUE(store(cache, "one", "anew"));
    EXPECT_EQ(files().size(), 2U);
    EXPECT_FALSE(fs::exists(path_ / "two-abcdef.unfinished"));
}

TEST_F(CacheDirectoryTest, FollowsNoLink) {
    const auto cache = open();
    ASSERT_TRUE(store(cache, "one", "content"));
    const auto name = files().front();
    fs::rename(name, directory_.path() / "elsewhere");
    fs::create_symlink(directory_.path() / "elsewhere", name);
    EXPECT_EQ(load(cache, "one"), "none");
}

TEST_F(CacheDirectoryTest, RefusesADirectoryThatOthersMayWriteTo) {
    fs::create_directories(path_);
    ASSERT_EQ(::chmod(path_.c_str(), 0777), 0);
    const auto refused = CacheDirectory::open(path_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kPermission);
    fs::remove(path_);
    fs::create_directory_symlink(directory_.path(), path_);
    EXPECT_FALSE(CacheDirectory::open(path_));
}

}  // namespace
}  // namespace beamdump::crash
