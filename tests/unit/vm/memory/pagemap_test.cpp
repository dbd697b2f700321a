#include "support/child_process.h"

#include <libvm/memory/block_cache.h>
#include <libvm/memory/pagemap.h>
#include <libvm/memory/process_memory.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace beamdump::memory {
namespace {

using beamdump::test::ChildProcess;
using beamdump::test::SharedAddress;

/// A child with 100 pages, of which it touched 0, 3 to 5, 50 and 99.
class PagemapTest : public ::testing::Test {
  protected:
    PagemapTest()
        : memory_(100, PROT_READ | PROT_WRITE), child_([&] {
              for (const std::size_t page : {0, 3, 4, 5, 50, 99}) {
                  memory_.data()[page * kLeastPageBytes] = static_cast<unsigned char>(page + 1);
              }
          }) {
        pages_ = std::move(Pagemap::open(child_.pid()).value());
    }
    [[nodiscard]] Address page(std::size_t number) const {
        return memory_.address() + number * kLeastPageBytes;
    }
    /// Numbers of present pages, and that parts ascend and do not touch.
    std::vector<std::size_t> present() {
        std::vector<std::size_t> numbers;
        Address last = 0;
        const auto parts = pages_->present({page(0), page(100)});
        for (const auto& part : parts.value()) {
            EXPECT_GT(part.begin, last);
            last = part.end;
            for (Address at = part.begin; at < part.end; at += kLeastPageBytes) {
                numbers.push_back((at - page(0)) / kLeastPageBytes);
            }
        }
        return numbers;
    }

    SharedAddress memory_;
    ChildProcess child_;
    std::unique_ptr<Pagemap> pages_;
};

TEST_F(PagemapTest, TellsTouchedPagesFromUntouched) {
    EXPECT_THAT(present(), ::testing::ElementsAre(0, 3, 4, 5, 50, 99));
}

TEST_F(PagemapTest, CountsWhatIsInMemory) {
    const auto use = pages_->use({page(0), page(100)}).value();
    EXPECT_EQ(use.present, 6 * kLeastPageBytes);
    EXPECT_EQ(use.swapped, 0U);
    EXPECT_EQ(pages_->use({page(6), page(50)})->present, 0U);
}

TEST(Pagemap, TellsGuardsWithinAMapping) {
    constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL, Linux' asm-generic/mman-common.h
    const SharedAddress memory(8, PROT_READ | PROT_WRITE);
    const ChildProcess child([&] {
        auto* pages = ::mmap(memory.data(), 8 * kLeastPageBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        static_cast<unsigned char*>(pages)[0] = 1;
        ::madvise(memory.data() + 2 * kLeastPageBytes, 3 * kLeastPageBytes, kGuardInstall);
    });
    if (::madvise(memory.data(), 0, kGuardInstall) != 0) {
        GTEST_SKIP() << "this kernel has no guards within mappings: NOT TESTED";
    }
    const auto first = memory.address();
    const auto guards =
        Pagemap::open(child.pid()).value()->guards({first, first + 8 * kLeastPageBytes}).value();
    ASSERT_EQ(guards.size(), 1U);
    EXPECT_EQ(guards[0].begin, first + 2 * kLeastPageBytes);
    EXPECT_EQ(guards[0].end, first + 5 * kLeastPageBytes);
}

TEST_F(PagemapTest, CutsToTheRange) {
    const auto parts = pages_->present({page(3) + 10, page(5) + 20}).value();
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts[0].begin, page(3) + 10);
    EXPECT_EQ(parts[0].end, page(5) + 20);
    EXPECT_TRUE(pages_->present({page(6), page(50)}).value().empty());
    EXPECT_TRUE(pages_->present({page(3), page(3)}).value().empty());
}

TEST_F(PagemapTest, ReadsRangesLargerThanABlockOfEntries) {
    const auto parts = pages_->present({page(0) - (64U << 20U), page(0) + (64U << 20U)}).value();
    // What lies beside the pages may be present too, and is then in one part with them.
    Address inside = 0;
    for (const auto& part : parts) {
        const auto begin = std::max(part.begin, page(0));
        const auto end = std::min(part.end, page(100));
        inside += begin < end ? end - begin : 0;
    }
    EXPECT_EQ(inside, 6 * kLeastPageBytes);
}

TEST_F(PagemapTest, RefusesRangesBeyondItsLimitAndKnowsTheEnd) {
    const auto all = pages_->present({0, ~Address{0}});
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().code, ErrorCode::kLimit);
    EXPECT_TRUE(pages_->present({Address{1} << 62U, (Address{1} << 62U) + kLeastPageBytes})
                    .value()
                    .empty());
}

TEST_F(PagemapTest, CachedReadsMakeNoOtherPagePresent) {
    auto source = std::move(ProcessMemory::open(child_.pid()).value());
    BlockCache cache(*source, pages_.get());
    EXPECT_EQ(cache.value<unsigned char>(page(4)).value(), 5);
    EXPECT_EQ(cache.value<unsigned char>(page(50)).value(), 51);
    EXPECT_EQ(cache.value<unsigned char>(page(99)).value(), 100);
    EXPECT_THAT(present(), ::testing::ElementsAre(0, 3, 4, 5, 50, 99));
}

TEST_F(PagemapTest, UncachedReadsOfUntouchedPagesDoSo) {
    auto source = std::move(ProcessMemory::open(child_.pid()).value());
    ASSERT_TRUE(source->word(page(70)));
    EXPECT_THAT(present(), ::testing::Contains(70));
}

TEST_F(PagemapTest, SaysThatTheChildIsGone) {
    child_.kill();
    const auto parts = pages_->present({page(0), page(100)});
    ASSERT_FALSE(parts);
    EXPECT_EQ(parts.error().code, ErrorCode::kTargetDied);
}

}  // namespace
}  // namespace beamdump::memory
