#include "support/temporary_directory.h"

#include <libdump/base/byte_sink.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
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
