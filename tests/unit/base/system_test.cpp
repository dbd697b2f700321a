#include "support/temporary_directory.h"

#include <libdump/base/descriptor.h>
#include <libdump/base/system/file_calls.h>
#include <libdump/base/system/mapped_memory.h>
#include <libdump/base/system/own_program.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace beamdump::system {
namespace {

using beamdump::test::TemporaryDirectory;

class SystemTest : public ::testing::Test {
  protected:
    static void put(const std::filesystem::path& path, const std::string& text) {
        std::ofstream(path) << text;
    }
    static std::string text(const std::filesystem::path& path) {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    TemporaryDirectory directory_;
    std::filesystem::path one_ = directory_.path() / "one";
    std::filesystem::path other_ = directory_.path() / "other";
};

TEST_F(SystemTest, TellsWhenAFileWasChanged) {
    put(one_, "1");
    const timespec times[2] = {{.tv_sec = 1, .tv_nsec = 2},
                               {.tv_sec = 1'700'000'000, .tv_nsec = 7}};
    ASSERT_EQ(::utimensat(AT_FDCWD, one_.c_str(), times, 0), 0);
    struct stat facts{};
    ASSERT_EQ(::stat(one_.c_str(), &facts), 0);
    EXPECT_EQ(file_times(facts).modified_ns, 1'700'000'000'000'000'007);
    EXPECT_GT(file_times(facts).changed_ns, 1'700'000'000'000'000'007);
}

TEST_F(SystemTest, GivesAFileANewName) {
    put(one_, "1");
    EXPECT_EQ(rename_to_new(one_, other_), 0);
    EXPECT_FALSE(std::filesystem::exists(one_));
    EXPECT_EQ(text(other_), "1");
    put(one_, "2");
    EXPECT_EQ(rename_to_new(one_, other_), EEXIST);
    EXPECT_EQ(text(one_), "2");
    EXPECT_EQ(text(other_), "1");
    EXPECT_EQ(rename_to_new(directory_.path() / "none", directory_.path() / "new"), ENOENT);
    EXPECT_EQ(rename_to_new(one_, directory_.path() / "none" / "new"), ENOENT);
}

TEST_F(SystemTest, OpensAFileThatHasNoName) {
    const Descriptor file(open_unnamed(directory_.path()));
    ASSERT_TRUE(file.valid()) << std::strerror(errno);
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
    struct stat facts{};
    ASSERT_EQ(::fstat(file.get(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777U, 0600U);
    EXPECT_NE(::fcntl(file.get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_EQ(open_unnamed(directory_.path() / "none"), -1);
    EXPECT_EQ(errno, ENOENT);
}

TEST_F(SystemTest, MakesRoomForAFile) {
    const Descriptor file(open_unnamed(directory_.path()));
    ASSERT_TRUE(file.valid());
    ASSERT_EQ(::pwrite(file.get(), "kept", 4, 0), 4);
    for (const off_t bytes : {200'000, 300'001}) {
        EXPECT_EQ(make_room(file.get(), static_cast<std::uint64_t>(bytes)), 0);
        struct stat facts{};
        ASSERT_EQ(::fstat(file.get(), &facts), 0);
        EXPECT_EQ(facts.st_size, bytes);
        EXPECT_GE(facts.st_blocks * 512, bytes);
    }
    std::string begin(5, '?');
    ASSERT_EQ(::pread(file.get(), begin.data(), begin.size(), 0), 5);
    EXPECT_EQ(begin, std::string("kept\0", 5));
    // A limit in place of a full disk.
    const auto former = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
    const rlimit low{.rlim_cur = 400'000, .rlim_max = limit.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
    EXPECT_EQ(make_room(file.get(), 500'000), EFBIG);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, former);
}

TEST_F(SystemTest, EnlargesMemoryAndKeepsWhatIsThere) {
    constexpr std::uint64_t kFew = 65536, kMany = 1U << 20U;
    const Descriptor file(open_unnamed(directory_.path()));
    ASSERT_EQ(make_room(file.get(), kFew), 0);
    void* shared = ::mmap(nullptr, kFew, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    for (const auto& [begin, number] :
         {std::pair{map_memory(kFew), -1}, std::pair{shared, file.get()}}) {
        ASSERT_NE(begin, MAP_FAILED);
        std::strcpy(static_cast<char*>(begin), "kept");
        if (number >= 0) {
            ASSERT_EQ(make_room(number, kMany), 0);
        }
        auto* const larger = static_cast<char*>(enlarge_mapping(begin, kFew, kMany, number));
        ASSERT_NE(static_cast<void*>(larger), MAP_FAILED);
        EXPECT_STREQ(larger, "kept");
        larger[kMany - 1] = 'x';
        if (number >= 0) {
            char last = 0;
            EXPECT_EQ(::pread(number, &last, 1, kMany - 1), 1);
            EXPECT_EQ(last, 'x');
        }
        ::munmap(larger, kMany);
    }
}

TEST(System, KnowsThisProcess) {
    ::setenv("BEAMDUMP_SYSTEM_TEST", "here", 1);
    bool found = false;
    for (char** one = environment(); *one != nullptr; ++one) {
        found = found || std::string_view(*one) == "BEAMDUMP_SYSTEM_TEST=here";
    }
    EXPECT_TRUE(found);
    if (const auto program = own_program()) {
        EXPECT_GT(program->bytes, 100'000U);
        EXPECT_GT(program->modified_ns, 1'700'000'000'000'000'000);
    }
}

}  // namespace
}  // namespace beamdump::system
