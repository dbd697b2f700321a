#include "support/child_process.h"

#include <libvm/memory/present_pages.h>
#include <libvm/memory/process_memory.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace beamdump::memory {
namespace {

using beamdump::test::ChildProcess;
using beamdump::test::SharedAddress;

/// Eight pages in a child: six of known words, the seventh not readable, the eighth known again.
class ProcessMemoryTest : public ::testing::TestWithParam<ReadWay> {
  protected:
    static constexpr std::size_t kHole = 6;

    ProcessMemoryTest()
        : memory_(8, PROT_READ | PROT_WRITE), child_([&] {
              for (std::size_t i = 0; i < 8 * 512; ++i) {
                  const std::uint64_t word = i * 3;
                  std::memcpy(memory_.data() + i * 8, &word, 8);
              }
              ::munmap(memory_.data() + kHole * kLeastPageBytes, kLeastPageBytes);
          }) {
        auto opened = ProcessMemory::open(child_.pid(), GetParam());
        source_ = std::move(opened.value());
    }
    [[nodiscard]] Address page(std::size_t number) const {
        return memory_.address() + number * kLeastPageBytes;
    }

    SharedAddress memory_;
    ChildProcess child_;
    std::unique_ptr<ProcessMemory> source_;
};

TEST_P(ProcessMemoryTest, ReadsWhatTheChildWrote) {
    EXPECT_EQ(source_->word(page(0)).value(), 0U);
    EXPECT_EQ(source_->word(page(5)).value(), 5 * 512 * 3U);
    EXPECT_EQ(source_->stats().bytes, 16U);
    EXPECT_EQ(source_->stats().reads, 2U);
}

TEST_P(ProcessMemoryTest, GivesWhatThereIsUpToTheHole) {
    std::vector<std::byte> into(4 * kLeastPageBytes);
    EXPECT_EQ(source_->read_some(page(kHole) - 8192, into).value(), 8192U);
    const auto all = source_->read(page(kHole) - 8192, into);
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().code, ErrorCode::kUnmapped);
}

TEST_P(ProcessMemoryTest, NothingAtTheHoleNorInTheKernelsHalf) {
    EXPECT_EQ(source_->word(page(kHole)).error().code, ErrorCode::kUnmapped);
    EXPECT_EQ(source_->word(0).error().code, ErrorCode::kUnmapped);
    EXPECT_EQ(source_->word(0xffffffff81000000).error().code, ErrorCode::kUnmapped);
    EXPECT_EQ(source_->word(~Address{0} - 7).error().code, ErrorCode::kUnmapped);
}

TEST_P(ProcessMemoryTest, BatchGoesOnAfterEachFailure) {
    constexpr std::size_t kReads = 3000;
    std::vector<std::uint64_t> got(kReads, 1);
    std::vector<BatchRead> reads;
    for (std::size_t i = 0; i < kReads; ++i) {
        Address from = page(0) + (i % 512) * 8;
        if (i % 7 == 3) {
            from = page(kHole) + 16;
        } else if (i % 500 == 100) {
            from = 0xffffffff81000000;
        }
        reads.push_back({from, std::as_writable_bytes(std::span(got).subspan(i, 1))});
    }
    reads.push_back({page(0), {}});
    ASSERT_TRUE(source_->read_batch(reads));
    for (std::size_t i = 0; i < kReads; ++i) {
        const bool good = i % 7 != 3 && i % 500 != 100;
        ASSERT_EQ(reads[i].done, good) << i;
        if (good) {
            ASSERT_EQ(got[i], (i % 512) * 3) << i;
        }
    }
}

TEST_P(ProcessMemoryTest, SaysThatTheChildIsGone) {
    child_.kill();
    EXPECT_EQ(source_->word(page(0)).error().code, ErrorCode::kTargetDied);
    std::uint64_t got = 0;
    std::array<BatchRead, 1> reads{{{page(0), std::as_writable_bytes(std::span(&got, 1))}}};
    const auto batch = source_->read_batch(reads);
    ASSERT_FALSE(batch);
    EXPECT_EQ(batch.error().code, ErrorCode::kTargetDied);
}

INSTANTIATE_TEST_SUITE_P(BothWays, ProcessMemoryTest,
                         ::testing::Values(ReadWay::kVmReadv, ReadWay::kProcMem),
                         [](const auto& way) {
                             return way.param == ReadWay::kVmReadv ? "VmReadv" : "ProcMem";
                         });

TEST(ProcessMemory, BatchNeedsFewCalls) {
    SharedAddress memory(1, PROT_READ | PROT_WRITE);
    ChildProcess child([&] { memory.data()[0] = 1; });
    auto source = ProcessMemory::open(child.pid());
    ASSERT_TRUE(source);
    std::vector<std::uint64_t> got(10000);
    std::vector<BatchRead> reads;
    for (auto& one : got) {
        reads.push_back({memory.address(), std::as_writable_bytes(std::span(&one, 1))});
    }
    ASSERT_TRUE((*source)->read_batch(reads));
    EXPECT_EQ((*source)->stats().reads, 10U);
    EXPECT_EQ((*source)->stats().bytes, 80000U);
    EXPECT_EQ(got.back(), 1U);
}

TEST(ProcessMemory, RefusesAPidThatIsNone) {
    ChildProcess child([] {});
    const pid_t pid = child.pid();
    child.kill();
    const auto source = ProcessMemory::open(pid);
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace beamdump::memory
