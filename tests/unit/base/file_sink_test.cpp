#include "support/temporary_directory.h"

#include <libdump/base/byte_sink.h>
#include <libdump/base/descriptor.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <vector>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;

class FileSinkTest : public ::testing::Test {
  protected:
    void put(const std::filesystem::path& path, const std::string& text) {
        std::ofstream(path) << text;
    }
    [[nodiscard]] std::string text(const std::filesystem::path& path) const {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    static Result<void> write(ByteSink& sink, std::string_view bytes) {
        return sink.write(std::as_bytes(std::span(bytes)));
    }

    TemporaryDirectory directory_;
    std::filesystem::path path_ = directory_.path() / "dump";
    std::filesystem::path partial_ = directory_.path() / "dump.partial";
};

/// Bytes of a file that are in the page cache (mincore(2)).
std::size_t cached_bytes(const std::filesystem::path& path) {
    constexpr std::size_t kPage = 4096;
    const auto size = std::filesystem::file_size(path);
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    EXPECT_NE(mapped, MAP_FAILED);
    std::vector<unsigned char> here((size + kPage - 1) / kPage);
    EXPECT_EQ(::mincore(mapped, size, here.data()), 0);
    ::munmap(mapped, size);
    return kPage * static_cast<std::size_t>(
                       std::ranges::count_if(here, [](unsigned char page) { return page & 1U; }));
}

TEST_F(FileSinkTest, DroppedPagesLeaveThePageCacheAsTheyAreWritten) {
    struct statfs facts{};
    ASSERT_EQ(::statfs(directory_.path().c_str(), &facts), 0);
    if (facts.f_type == TMPFS_MAGIC) {
        GTEST_SKIP() << "NOT TESTED here: the temporary folder is in memory";
    }
    constexpr std::size_t kMebibyte = 1U << 20U;
    const std::string part(kMebibyte, 'x');
    for (const auto pages : {WrittenPages::kDropped, WrittenPages::kDroppedOnDisk}) {
        auto sink = open_file_sink(path_, {.force = true, .pages = pages});
        ASSERT_TRUE(sink) << sink.error().message;
        for (int written = 0; written < 16; ++written) {
            ASSERT_TRUE(write(**sink, part));
            EXPECT_LE(cached_bytes(partial_), 3 * kMebibyte);
        }
        ASSERT_TRUE((*sink)->commit());
        EXPECT_EQ(cached_bytes(path_), 0U);
    }
}

TEST_F(FileSinkTest, PagesStayInAFileSystemInMemory) {
    const std::filesystem::path shared = "/dev/shm";
    struct statfs facts{};
    if (::statfs(shared.c_str(), &facts) != 0 || facts.f_type != TMPFS_MAGIC) {
        GTEST_SKIP() << "NOT TESTED here: there is no tmpfs at /dev/shm";
    }
    const auto path = shared / path_.parent_path().filename();
    EXPECT_EQ(open_file_sink(path, {.pages = WrittenPages::kDropped}).error().code,
              ErrorCode::kUnsupported);
    auto sink = open_file_sink(
        path, {.pages = WrittenPages::kDroppedOnDisk, .partial = PartialFile::kRemoved});
    EXPECT_TRUE(sink && write(**sink, "a dump"));
}

TEST_F(FileSinkTest, HasItsNameOnlyWhenCommitted) {
    auto sink = open_file_sink(path_, {.force = false});
    ASSERT_TRUE(sink) << sink.error().message;
    ASSERT_TRUE(write(**sink, "whole"));
    EXPECT_FALSE(std::filesystem::exists(path_));
    EXPECT_EQ(text(partial_), "whole");
    ASSERT_TRUE((*sink)->commit());
    EXPECT_EQ(text(path_), "whole");
    EXPECT_FALSE(std::filesystem::exists(partial_));
}

TEST_F(FileSinkTest, IsForItsOwnerAloneWhateverTheUmask) {
    for (const mode_t mask : {0000U, 0022U, 0777U}) {
        const mode_t before = ::umask(mask);
        auto sink = open_file_sink(path_, {.force = true});
        ::umask(before);
        ASSERT_TRUE(sink) << sink.error().message;
        struct stat status{};
        ASSERT_EQ(::stat(partial_.c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777U, 0600U);
        ASSERT_TRUE((*sink)->commit());
        ASSERT_EQ(::stat(path_.c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777U, 0600U);
    }
}

TEST_F(FileSinkTest, AnExistingFileIsRefusedBeforeAnythingIsCreated) {
    put(path_, "old");
    const auto sink = open_file_sink(path_, {.force = false});
    ASSERT_FALSE(sink);
    EXPECT_EQ(sink.error().code, ErrorCode::kExists);
    EXPECT_THAT(sink.error().message, HasSubstr(path_.string()));
    EXPECT_THAT(sink.error().message, HasSubstr("--force"));
    EXPECT_FALSE(std::filesystem::exists(partial_));
    EXPECT_EQ(text(path_), "old");
}

TEST_F(FileSinkTest, ForceReplacesAtCommitAndNotBefore) {
    put(path_, "old");
    auto sink = open_file_sink(path_, {.force = true});
    ASSERT_TRUE(sink);
    ASSERT_TRUE(write(**sink, "fresh"));
    EXPECT_EQ(text(path_), "old");
    ASSERT_TRUE((*sink)->commit());
    EXPECT_EQ(text(path_), "fresh");
}

TEST_F(FileSinkTest, ForceDoesNotReplaceADirectory) {
    std::filesystem::create_directory(path_);
    const auto sink = open_file_sink(path_, {.force = true});
    ASSERT_FALSE(sink);
    EXPECT_EQ(sink.error().code, ErrorCode::kExists);
}

TEST_F(FileSinkTest, AFileThatAppearsMeanwhileIsNotReplaced) {
    auto sink = open_file_sink(path_, {.force = false});
    ASSERT_TRUE(sink);
    ASSERT_TRUE(write(**sink, "dump"));
    put(path_, "somebody's");
    const auto committed = (*sink)->commit();
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().code, ErrorCode::kExists);
    EXPECT_THAT(committed.error().message, HasSubstr(partial_.string()));
    EXPECT_EQ(text(path_), "somebody's");
    EXPECT_EQ(text(partial_), "dump");
}

TEST_F(FileSinkTest, ALeftoverIsReplacedAndNeverWrittenThrough) {
    const auto elsewhere = directory_.path() / "elsewhere";
    put(elsewhere, "untouched");
    std::filesystem::create_symlink(elsewhere, partial_);
    auto sink = open_file_sink(path_, {.force = false});
    ASSERT_TRUE(sink) << sink.error().message;
    ASSERT_TRUE(write(**sink, "dump"));
    ASSERT_TRUE((*sink)->commit());
    EXPECT_EQ(text(elsewhere), "untouched");
    EXPECT_EQ(text(path_), "dump");
}

TEST_F(FileSinkTest, ASecondCaptureDoesNotTakeTheFirstOnesFile) {
    auto first = open_file_sink(path_, {.force = false});
    ASSERT_TRUE(first);
    const auto second = open_file_sink(path_, {.force = false});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kExists);
    EXPECT_THAT(second.error().message, HasSubstr("another capture"));
    ASSERT_TRUE((*first)->commit());
}

TEST_F(FileSinkTest, WithoutCommitThePartialFileStays) {
    {
        auto sink = open_file_sink(path_, {.force = false});
        ASSERT_TRUE(sink);
        ASSERT_TRUE(write(**sink, "half"));
    }
    EXPECT_EQ(text(partial_), "half");
    EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(FileSinkTest, APartialFileOfNoUseIsRemoved) {
    {
        auto sink = open_file_sink(path_, {.partial = PartialFile::kRemoved});
        ASSERT_TRUE(sink);
        ASSERT_TRUE(write(**sink, "half"));
        EXPECT_TRUE(std::filesystem::exists(partial_));
    }
    EXPECT_FALSE(std::filesystem::exists(partial_));
    auto whole = open_file_sink(path_, {.partial = PartialFile::kRemoved});
    ASSERT_TRUE(whole);
    ASSERT_TRUE(write(**whole, "whole"));
    ASSERT_TRUE((*whole)->commit());
    whole->reset();
    EXPECT_EQ(text(path_), "whole");
}

TEST_F(FileSinkTest, AMissingDirectoryIsNamed) {
    const auto sink = open_file_sink(directory_.path() / "none" / "dump", {.force = false});
    ASSERT_FALSE(sink);
    EXPECT_EQ(sink.error().code, ErrorCode::kIo);
    EXPECT_THAT(sink.error().message, HasSubstr("none/dump.partial"));
    EXPECT_THAT(sink.error().message, HasSubstr("No such file or directory"));
}

/// The file size limit stands in for a full disk.
TEST_F(FileSinkTest, NoSpaceSaysHowMuchIsWhere) {
    auto sink = open_file_sink(path_, {.force = false});
    ASSERT_TRUE(sink);
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto written = write(**sink, std::string(1500, 'x'));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::kNoSpace);
    EXPECT_THAT(written.error().message, HasSubstr("1000 bytes were written"));
    EXPECT_THAT(written.error().message, HasSubstr(partial_.string()));
    EXPECT_EQ(std::filesystem::file_size(partial_), 1000U);
}

}  // namespace
}  // namespace beamdump::test
