#include "support/dump_builder.h"
#include "support/memory_file.h"

#include <libdump/read/file/file_header.h>
#include <libdump/read/frames/seek_table.h>

#include <gtest/gtest.h>
#include <xxhash.h>

#include <functional>

namespace beamdump::test {
namespace {

/// A dump whose seek table and tail can be changed; checksums are made to hold again.
class SeekTableTest : public ::testing::Test {
  protected:
    using Entries = std::vector<std::array<std::uint32_t, 3>>;

    void SetUp() override {
        bytes_ = DumpBuilder::whole({.frame_bytes = 1024});
        std::uint32_t count = 0;
        std::memcpy(&count, bytes_.data() + bytes_.size() - 9, sizeof(count));
        entries_.resize(count);
        table_start_ = bytes_.size() - 17 - count * 12UL;
        std::memcpy(entries_.data(), bytes_.data() + table_start_ + 8, count * 12UL);
        std::memcpy(&tail_, bytes_.data() + table_start_ - sizeof(tail_), sizeof(tail_));
    }

    Result<DumpEnd> read_with(const std::function<void(Entries&, format::Tail&)>& change) {
        Entries entries = entries_;
        format::Tail tail = tail_;
        change(entries, tail);
        auto bytes = bytes_;
        std::memcpy(bytes.data() + table_start_ + 8, entries.data(), entries.size() * 12);
        tail.seek_table_checksum =
            XXH64(bytes.data() + table_start_, bytes.size() - table_start_, 0);
        tail.checksum = XXH64(&tail, offsetof(format::Tail, checksum), 0);
        std::memcpy(bytes.data() + table_start_ - sizeof(tail), &tail, sizeof(tail));
        const MemoryFile file(bytes);
        auto source = expect_value(FileSource::open(file.path()));
        const auto header = expect_value(read_file_header(source));
        return read_dump_end(source, header);
    }
    bool refused(const std::function<void(Entries&, format::Tail&)>& change) {
        const auto end = read_with(change);
        return !end && end.error().code == ErrorCode::kCorrupt;
    }

    std::vector<std::byte> bytes_;
    std::size_t table_start_ = 0;
    Entries entries_;
    format::Tail tail_;
};

TEST_F(SeekTableTest, ListsEveryFrameOfTheFile) {
    const auto end = expect_value(read_with([](auto&, auto&) {}));
    const auto& frames = end.frames.frames();
    ASSERT_EQ(frames.size() + 2, entries_.size());
    EXPECT_EQ(frames.front().file_offset, 56U);
    EXPECT_EQ(frames.front().flat_offset, 0U);
    EXPECT_EQ(frames.back().file_end(), table_start_ - 64);
    EXPECT_EQ(frames.back().flat_end(), tail_.flat_bytes);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        EXPECT_EQ(end.frames.find(frames[i].flat_offset), i);
        EXPECT_EQ(end.frames.find(frames[i].flat_end() - 1), i);
        EXPECT_EQ(end.frames.first_after(frames[i].flat_offset), i + 1);
    }
    EXPECT_FALSE(end.frames.find(tail_.flat_bytes));
}

TEST_F(SeekTableTest, RefusesWhatDoesNotAddUp) {
    EXPECT_TRUE(refused([](auto& entries, auto&) { entries[1][0] += 1; }));
    EXPECT_TRUE(refused([](auto& entries, auto&) { entries[1][1] += 8; }));
    EXPECT_TRUE(refused([](auto& entries, auto&) { entries[0][0] += 1; }));
    EXPECT_TRUE(refused([](auto& entries, auto&) { entries[0][1] = 8; }));
    EXPECT_TRUE(refused([](auto& entries, auto&) { entries.back()[1] = 8; }));
    EXPECT_TRUE(refused([](auto&, auto& tail) { tail.frames += 1; }));
    EXPECT_TRUE(refused([](auto&, auto& tail) { tail.flat_bytes += 8; }));
}

/// What a hostile table could make a reader allocate.
TEST_F(SeekTableTest, RefusesSizesNoFrameCanHave) {
    EXPECT_TRUE(refused([](auto& entries, auto& tail) {
        entries[1][1] += 1U << 30U;
        tail.flat_bytes += 1U << 30U;
    }));
    EXPECT_TRUE(refused([](auto& entries, auto&) { entries[1][0] = UINT32_MAX; }));
    EXPECT_TRUE(refused([](auto& entries, auto& tail) {
        tail.flat_bytes -= entries[1][1];
        entries[1][1] = 0;
    }));
    EXPECT_TRUE(refused([](auto& entries, auto&) {
        entries[2][0] += entries[1][0] - 60000;
        entries[1][0] = 60000;
    }));
}

TEST_F(SeekTableTest, AFooterThatClaimsMoreThanTheFileIsRefused) {
    for (const std::uint32_t count : {0U, 1U, 1000U, 0x7ffffffU, UINT32_MAX}) {
        auto bytes = bytes_;
        std::memcpy(bytes.data() + bytes.size() - 9, &count, sizeof(count));
        const MemoryFile file(bytes);
        auto source = expect_value(FileSource::open(file.path()));
        const auto header = expect_value(read_file_header(source));
        EXPECT_FALSE(read_dump_end(source, header)) << count;
        EXPECT_LT(source.bytes_read(), 8192U);
    }
}

}  // namespace
}  // namespace beamdump::test
