// Frames that are loaded before they are asked for.

#include "open_store.h"
#include "support/memory_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace beamdump::test {
namespace {

using Bytes = std::vector<std::byte>;

class FrameAheadTest : public ::testing::Test {
  protected:
    static constexpr std::size_t kOneFrame = 1;  // a cache of bytes that hold the last frame only

    [[nodiscard]] FrameStore open(unsigned threads = 1) const {
        return open_store(file_.path(), kOneFrame, threads);
    }

    static Bytes read(FrameStore& store, std::size_t position) {
        const auto frame = expect_value(store.by_position(position));
        EXPECT_EQ(frame->where().sequence, position);
        return {frame->bytes().begin(), frame->bytes().end()};
    }

    /// Every frame by a store of its own, which has nothing to read ahead.
    [[nodiscard]] std::vector<Bytes> one_by_one() const {
        std::vector<Bytes> frames;
        for (std::size_t i = 0; i < count_; ++i) {
            FrameStore store = open();
            frames.push_back(read(store, i));
            EXPECT_EQ(store.stats().frames_decompressed, 1U);
        }
        return frames;
    }

    /// Makes one byte of a frame another.
    void damage(std::size_t position) const {
        const FrameStore store = open();
        const FrameRef& where = store.index().frames()[position];
        const std::byte changed{0xA5};
        file_.write(where.file_offset + where.compressed_bytes / 2, std::span(&changed, 1));
    }

    MemoryFile file_{DumpBuilder::whole({.frame_bytes = 1024}, {.processes = 30})};
    std::size_t count_ = open().index().frames().size();
};

TEST_F(FrameAheadTest, ReadingOnGivesEachFrameAndLoadsItOnce) {
    const auto frames = one_by_one();
    FrameStore store = open();
    ASSERT_GT(count_, 20U);
    for (std::size_t i = 0; i < count_; ++i) {
        EXPECT_EQ(read(store, i), frames[i]) << i;
    }
    EXPECT_EQ(store.stats().frames_decompressed, count_);
    const auto& refs = store.index().frames();
    EXPECT_EQ(store.stats().file_bytes_read,
              open().stats().file_bytes_read +
                  std::accumulate(refs.begin(), refs.end(), std::uint64_t{0},
                                  [](std::uint64_t sum, const FrameRef& ref) {
                                      return sum + ref.compressed_bytes;
                                  }));
}

TEST_F(FrameAheadTest, ReadingBackwardsGivesEachFrameAndLoadsItOnce) {
    const auto frames = one_by_one();
    FrameStore store = open();
    for (std::size_t i = count_; i-- > 0;) {
        EXPECT_EQ(read(store, i), frames[i]) << i;
    }
    EXPECT_EQ(store.stats().frames_decompressed, count_);
}

TEST_F(FrameAheadTest, SeveralThreadsGiveEachFrame) {
    const auto frames = one_by_one();
    for (const unsigned threads : {2U, 3U, 8U}) {
        FrameStore store = open(threads);
        for (std::size_t i = 0; i < count_; ++i) {
            EXPECT_EQ(read(store, i), frames[i]) << i;
        }
        EXPECT_EQ(store.stats().frames_decompressed, count_);
        for (std::size_t i = count_ - 1; i-- > 0;) {
            EXPECT_EQ(read(store, i), frames[i]) << i;
        }
    }
}

/// As a heap is read whose lists, tuples and binaries lie one behind the other.
TEST_F(FrameAheadTest, SeveralThreadsFollowRunsThatTakeTurns) {
    const auto frames = one_by_one();
    FrameStore store = open(2);
    const std::size_t part = count_ / 3;
    for (std::size_t i = 0; i < part; ++i) {
        for (std::size_t run = 0; run < 3; ++run) {
            EXPECT_EQ(read(store, run * part + i), frames[run * part + i]);
        }
    }
    // Two frames of each run at most were loaded in vain, at its end.
    EXPECT_GE(store.stats().frames_decompressed, 3 * part);
    EXPECT_LE(store.stats().frames_decompressed, 3 * part + 6);
}

TEST_F(FrameAheadTest, SeveralThreadsTellOfADamagedFrameOnlyWhoAsksForIt) {
    constexpr std::size_t kDamaged = 8;
    const auto frames = one_by_one();
    damage(kDamaged);
    const auto alone = open().by_position(kDamaged);
    FrameStore store = open(4);
    for (std::size_t i = 0; i < kDamaged; ++i) {
        EXPECT_EQ(read(store, i), frames[i]) << i;
    }
    static_cast<void>(store.stats());
    EXPECT_FALSE(store.unreadable());
    const auto damaged = store.by_position(kDamaged);
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.error().message, alone.error().message);
    EXPECT_EQ(read(store, kDamaged + 1), frames[kDamaged + 1]);
    EXPECT_EQ(store.unreadable()->frames, 1U);
}

TEST_F(FrameAheadTest, AStoreWithSeveralThreadsIsDroppedAtAnyMoment) {
    for (std::size_t read_before = 1; read_before < count_; ++read_before) {
        FrameStore store = open(3);
        for (std::size_t i = 0; i < read_before; ++i) {
            read(store, i);
        }
    }
}

TEST_F(FrameAheadTest, FetchesNoMoreThanItsBounds) {
    FrameStore store = open();
    const auto& refs = store.index().frames();
    auto file = expect_value(FileSource::open(file_.path()));
    const auto header = expect_value(read_file_header(file));
    const auto loader = expect_value(FrameLoader::create(header));
    const auto ahead =
        FrameAhead::start(file, loader, {.threads = 2, .frames = 3, .bytes = 1U << 20U});
    ASSERT_NE(ahead, nullptr);
    for (std::size_t i = 0; i < 5; ++i) {
        ahead->fetch(i, refs[i]);
    }
    static_cast<void>(ahead->stats());
    EXPECT_FALSE(ahead->has(0));
    EXPECT_FALSE(ahead->has(1));
    for (std::size_t i = 2; i < 5; ++i) {
        ASSERT_TRUE(ahead->has(i));
        EXPECT_EQ(expect_value(*ahead->take(i))->where().sequence, i);
    }
    const auto small = FrameAhead::start(file, loader, {.threads = 1, .frames = 9, .bytes = 1});
    small->fetch(0, refs[0]);
    small->fetch(1, refs[1]);
    EXPECT_FALSE(small->has(0));
    EXPECT_TRUE(small->has(1));
}

TEST_F(FrameAheadTest, SeekingAwayCostsAtMostTheFrameReadAhead) {
    const auto frames = one_by_one();
    FrameStore store = open();
    std::size_t asked = 0;
    std::size_t runs = 0;
    for (std::size_t begin = 0; begin + 6 < count_; begin += 9, ++runs) {
        for (std::size_t i = begin; i < begin + 6; ++i, ++asked) {
            EXPECT_EQ(read(store, i), frames[i]) << i;
        }
        EXPECT_EQ(read(store, count_ - 1), frames.back());
        ++asked;
    }
    ASSERT_GE(runs, 2U);
    EXPECT_GE(store.stats().frames_decompressed, asked);
    EXPECT_LE(store.stats().frames_decompressed, asked + runs);
}

TEST_F(FrameAheadTest, NothingIsReadAheadOfFramesHereAndThere) {
    FrameStore store = open();
    std::size_t asked = 0;
    for (std::size_t i = 0; i + 3 < count_; i += 3) {
        // Two neighbours are no run yet.
        read(store, i);
        read(store, i + 1);
        asked += 2;
    }
    EXPECT_EQ(store.stats().frames_decompressed, asked);
}

TEST_F(FrameAheadTest, ADamagedFrameIsToldOnlyToWhoAsksForIt) {
    constexpr std::size_t kDamaged = 8;
    const auto frames = one_by_one();
    damage(kDamaged);
    FrameStore store = open();
    for (std::size_t i = 0; i < kDamaged; ++i) {
        EXPECT_EQ(read(store, i), frames[i]) << i;
    }
    // It has been loaded by now, which stats() waits for, and nobody was told.
    EXPECT_EQ(store.stats().frames_decompressed, kDamaged);
    for (int times = 0; times < 2; ++times) {
        const auto damaged = store.by_position(kDamaged);
        ASSERT_FALSE(damaged);
        EXPECT_EQ(damaged.error().code, ErrorCode::kCorrupt);
        EXPECT_THAT(damaged.error().message, ::testing::HasSubstr("frame 8 of "));
    }
    EXPECT_EQ(read(store, kDamaged + 1), frames[kDamaged + 1]);
    EXPECT_EQ(read(store, 0), frames[0]);
}

TEST_F(FrameAheadTest, AFileCutOffHalfWayEndsInAnError) {
    FrameStore store = open();
    for (std::size_t i = 0; i < 6; ++i) {
        read(store, i);
    }
    static_cast<void>(store.stats());  // frame 6 is loaded
    file_.resize(100);
    EXPECT_TRUE(store.by_position(6));
    const auto lost = store.by_position(8);
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ErrorCode::kTruncated);
}

TEST_F(FrameAheadTest, AStoreIsDroppedAtAnyMoment) {
    for (std::size_t read_before = 1; read_before < count_; ++read_before) {
        FrameStore store = open();
        for (std::size_t i = 0; i < read_before; ++i) {
            read(store, i);
        }
    }
}

TEST_F(FrameAheadTest, AStoreIsMovedWhileItReadsAhead) {
    const auto frames = one_by_one();
    FrameStore first = open();
    for (std::size_t i = 0; i < 6; ++i) {
        read(first, i);
    }
    FrameStore store = std::move(first);
    for (std::size_t i = 6; i < count_; ++i) {
        EXPECT_EQ(read(store, i), frames[i]) << i;
    }
    EXPECT_EQ(store.stats().frames_decompressed, count_);
}

TEST_F(FrameAheadTest, ADamagedFrameIsReadOnceAndTold) {
    damage(2);
    FrameStore store = open();
    EXPECT_FALSE(store.unreadable());
    const auto first = store.by_position(2);
    ASSERT_FALSE(first);
    const auto read_once = store.stats().file_bytes_read;
    for (int i = 0; i < 10; ++i) {
        const auto again = store.by_position(2);
        ASSERT_FALSE(again);
        EXPECT_EQ(again.error().message, first.error().message);
    }
    EXPECT_EQ(store.stats().file_bytes_read, read_once);
    ASSERT_TRUE(store.unreadable());
    EXPECT_EQ(store.unreadable()->frames, 1U);
    EXPECT_EQ(store.unreadable()->first.message, first.error().message);
}

}  // namespace
}  // namespace beamdump::test
