#include "support/temporary_directory.h"

#include <libdump/base/scratch_array.h>

#include <gtest/gtest.h>

#include <csignal>
#include <numeric>
#include <sys/resource.h>

namespace beamdump::test {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;

TEST(ScratchSpace, KeepsWhatIsWrittenWhereverItLies) {
    const TemporaryDirectory directory;
    for (const std::uint64_t allowed : {std::uint64_t{0}, kMiB, 100 * kMiB}) {
        ScratchSpace space({.max_memory_bytes = allowed, .directory = directory.path()});
        ScratchArray<std::uint64_t> array(&space);
        constexpr std::uint64_t kCount = 1'000'000;
        for (std::uint64_t i = 0; i < kCount; ++i) {
            ASSERT_TRUE(array.push_back(i * 3));
            EXPECT_LE(space.memory_bytes(), allowed);
        }
        EXPECT_EQ(array.in_file(), allowed < kCount * 8);
        EXPECT_GE(space.memory_bytes() + space.file_bytes(), kCount * 8);
        EXPECT_LT(space.memory_bytes() + space.file_bytes(), 2 * kCount * 8);
        EXPECT_EQ(std::accumulate(array.begin(), array.end(), std::uint64_t{0}),
                  3 * kCount * (kCount - 1) / 2);
        ASSERT_TRUE(array.assign(10, 7));
        EXPECT_EQ(array.size(), 10U);
        EXPECT_EQ(array[9], 7U);
        array.release();
        EXPECT_EQ(space.memory_bytes() + space.file_bytes(), 0U);
    }
}

TEST(ScratchSpace, FreedSpaceMayBeTakenByAnother) {
    ScratchSpace space({.max_memory_bytes = kMiB, .directory = {}});
    for (int i = 0; i < 3; ++i) {
        ScratchBlock block(&space);
        ASSERT_TRUE(block.grow(kMiB));
        EXPECT_FALSE(block.in_file());
        ScratchBlock other = std::move(block);
        EXPECT_EQ(space.memory_bytes(), kMiB);
    }
    EXPECT_EQ(space.memory_bytes(), 0U);
}

TEST(ScratchSpace, NewRoomIsZeros) {
    const TemporaryDirectory directory;
    for (const std::uint64_t allowed : {std::uint64_t{0}, 10 * kMiB}) {
        ScratchSpace space({.max_memory_bytes = allowed, .directory = directory.path()});
        ScratchBlock block(&space);
        ASSERT_TRUE(block.grow(kMiB));
        std::fill_n(block.data(), block.bytes(), std::byte{0xFF});
        const std::uint64_t before = block.bytes();
        ASSERT_TRUE(block.grow(2 * kMiB));
        EXPECT_EQ(block.data()[before - 1], std::byte{0xFF});
        EXPECT_TRUE(std::all_of(block.data() + before, block.data() + block.bytes(),
                                [](std::byte byte) { return byte == std::byte{0}; }));
    }
}

TEST(ScratchSpace, NoRoomIsAnErrorBeforeAnythingIsWritten) {
    const TemporaryDirectory directory;
    ScratchSpace space({.max_memory_bytes = 0, .directory = directory.path()});
    ScratchBlock block(&space);
    ASSERT_TRUE(block.grow(kMiB));
    // Stands for a full disk: the system refuses to make the file longer.
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    rlimit little = before;
    little.rlim_cur = 2 * kMiB;
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
    const auto grown = block.grow(8 * kMiB);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    ASSERT_FALSE(grown);
    EXPECT_EQ(grown.error().code, ErrorCode::kNoSpace);
    const std::string& message = grown.error().message;
    EXPECT_NE(message.find(directory.path().string()), std::string::npos) << message;
    EXPECT_NE(message.find("no room for 8388608 bytes"), std::string::npos) << message;
    EXPECT_GE(block.bytes(), kMiB) << "what was there stays";
    block.data()[kMiB - 1] = std::byte{1};
}

TEST(ScratchSpace, TheDirectoryIsThatOfTheEnvironment) {
    const TemporaryDirectory directory;
    const char* named = std::getenv("TMPDIR");
    const std::string before = named != nullptr ? named : "";
    ::setenv("TMPDIR", directory.path().c_str(), 1);
    EXPECT_EQ(ScratchSpace({}).directory(), directory.path());
    ::unsetenv("TMPDIR");
    EXPECT_EQ(ScratchSpace({}).directory(), "/var/tmp");
    if (named != nullptr) {
        ::setenv("TMPDIR", before.c_str(), 1);
    }
}

}  // namespace
}  // namespace beamdump::test
