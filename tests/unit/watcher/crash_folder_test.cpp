#include "dumps/crash_folder.h"

#include "support/temporary_directory.h"

#include <gtest/gtest.h>

#include <fstream>

namespace beamdump::watch {
namespace {

TEST(CrashFolderTest, TheFileIsThatOfTheEnvironment) {
    EXPECT_EQ(crash_dump_of({"HOME=/root"}), "erl_crash.dump");
    EXPECT_EQ(crash_dump_of({"ERL_CRASH_DUMP="}), "erl_crash.dump");
    EXPECT_EQ(crash_dump_of({"ERL_CRASH_DUMP_BYTES=0", "ERL_CRASH_DUMP=/var/log/crash"}),
              "/var/log/crash");
}

TEST(CrashFolderTest, NoticesAFileThatIsNewAndComplete) {
    const test::TemporaryDirectory directory;
    const auto file = directory.path() / "erl_crash.dump";
    std::ofstream(file) << "an old one";
    auto folder = CrashFolder::open(file);
    ASSERT_TRUE(folder) << folder.error().message;
    EXPECT_FALSE(folder->written());
    std::ofstream(directory.path() / "another") << "text";
    EXPECT_FALSE(folder->written());
    {
        std::ofstream writing(file);
        writing << "a new one" << std::flush;
        EXPECT_FALSE(folder->written());
    }
    EXPECT_TRUE(folder->written());
    EXPECT_FALSE(folder->written());
    EXPECT_EQ(folder->bytes(), 9U);
    EXPECT_TRUE(std::filesystem::equivalent(folder->path(), file));
    std::filesystem::rename(directory.path() / "another", file);
    EXPECT_TRUE(folder->written());
    EXPECT_TRUE(folder->remove());
    EXPECT_FALSE(folder->bytes());
    std::filesystem::create_symlink("/etc/passwd", file);
    EXPECT_FALSE(folder->bytes());
}

TEST(CrashFolderTest, AFolderThatIsNotThereIsAnError) {
    EXPECT_FALSE(CrashFolder::open("/nonexistent/erl_crash.dump"));
}

}  // namespace
}  // namespace beamdump::watch
