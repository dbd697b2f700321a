#include "support/memory_sink.h"

#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>
#include <libdump/write/run_record_writer.h>

#include <gtest/gtest.h>

namespace beamdump {
namespace {

class RunRecordWriterTest : public ::testing::Test {
  protected:
    void SetUp() override {
        auto writer = DumpWriter::create(
            std::make_unique<test::MemorySink>(std::make_shared<test::SinkContent>()), {});
        ASSERT_TRUE(writer) << writer.error().message;
        writer_.emplace(std::move(*writer));
    }

    static records::PackedRegion region_of(std::uint64_t address, int words) {
        records::PackedRegion region;
        region.set_address(address);
        region.mutable_words()->Resize(words, 7);
        return region;
    }

    std::optional<DumpWriter> writer_;
};

TEST_F(RunRecordWriterTest, KeepsOnePageOfTheDirectory) {
    RunRecordWriter run(*writer_);
    const auto regions = 2 * limits::kDirectoryReferences + 3;
    for (std::uint64_t address = 0; address < regions; ++address) {
        records::RegionRef ref;
        ref.set_address(address);
        ASSERT_TRUE(run.region(ref));
    }
    records::RunDirectory directory;
    ASSERT_TRUE(run.finish(directory));
    EXPECT_NE(directory.previous_offset(), 0U);
    ASSERT_EQ(directory.region_size(), 3);
    EXPECT_EQ(directory.region(0).address(), 2 * limits::kDirectoryReferences);
}

TEST_F(RunRecordWriterTest, GoesOnFromAnEarlierDirectory) {
    RunRecordWriter run(*writer_);
    run.follow(4711);
    records::RunDirectory directory;
    ASSERT_TRUE(run.finish(directory));
    EXPECT_EQ(directory.previous_offset(), 4711U);
}

TEST_F(RunRecordWriterTest, BeginsAnotherRunWithoutTheLastOnes) {
    RunRecordWriter run(*writer_);
    records::RunDirectory directory;
    run.follow(4711);
    ASSERT_TRUE(run.region({}));
    ASSERT_TRUE(run.message({}));
    ASSERT_TRUE(run.finish(directory));
    EXPECT_EQ(directory.region_size(), 1);
    run.begin();
    ASSERT_TRUE(run.finish(directory));
    EXPECT_FALSE(directory.has_previous_offset());
    EXPECT_EQ(directory.region_size() + directory.messages_size(), 0);
    EXPECT_EQ(run.messages(), 0U);
}

TEST_F(RunRecordWriterTest, EndsAPackOfMessagesByTheirNumber) {
    RunRecordWriter run(*writer_);
    constexpr int kMessages = 3000;
    for (int number = 0; number < kMessages; ++number) {
        ASSERT_TRUE(run.message({}));
    }
    EXPECT_EQ(run.messages(), static_cast<std::uint64_t>(kMessages));
    records::RunDirectory directory;
    ASSERT_TRUE(run.finish(directory));
    std::uint64_t next = 0;
    for (const auto& pack : directory.messages()) {
        EXPECT_EQ(pack.first_index(), next);
        EXPECT_LE(pack.count() * limits::kEntryBytes, limits::kPackBytes);
        next += pack.count();
    }
    EXPECT_EQ(next, static_cast<std::uint64_t>(kMessages));
    EXPECT_GT(directory.messages_size(), 1);
}

TEST_F(RunRecordWriterTest, EndsAPackOfMessagesByTheirWords) {
    RunRecordWriter run(*writer_);
    constexpr int kWords = 4096;
    for (std::uint64_t number = 0; number < 7; ++number) {
        records::Message message;
        *message.add_fragment() = region_of(0x10000 * (number + 1), kWords);
        ASSERT_TRUE(run.message(std::move(message)));
    }
    records::RunDirectory directory;
    ASSERT_TRUE(run.finish(directory));
    ASSERT_EQ(directory.messages_size(), 3);
    EXPECT_EQ(directory.messages(0).count(), 3U);
    EXPECT_EQ(directory.messages(0).lowest_address(), 0x10000U);
    EXPECT_EQ(directory.messages(0).highest_address(), 0x30000U + kWords * 8U);
    EXPECT_EQ(directory.messages(1).lowest_address(), 0x40000U);
    EXPECT_EQ(directory.messages(2).count(), 1U);
}

TEST_F(RunRecordWriterTest, PacksSmallRegions) {
    RunRecordWriter run(*writer_);
    for (const std::uint64_t address : {0x9000U, 0x1000U, 0x5000U}) {
        auto region = region_of(address, 2);
        ASSERT_TRUE(run.packed_region(region));
        EXPECT_EQ(region.words_size(), 0) << "what was written can be filled anew";
    }
    records::RunDirectory directory;
    ASSERT_TRUE(run.finish(directory));
    ASSERT_EQ(directory.packed_regions_size(), 1);
    EXPECT_EQ(directory.packed_regions(0).count(), 3U);
    EXPECT_EQ(directory.packed_regions(0).lowest_address(), 0x1000U);
    EXPECT_EQ(directory.packed_regions(0).highest_address(), 0x9010U);
}

TEST_F(RunRecordWriterTest, CountsLinksAndMonitorsOfAPage) {
    RunRecordWriter run(*writer_);
    records::Relations page;
    page.add_link();
    page.add_link();
    page.add_monitor();
    ASSERT_TRUE(run.relations(page));
    records::RunDirectory directory;
    ASSERT_TRUE(run.finish(directory));
    ASSERT_EQ(directory.relations_size(), 1);
    EXPECT_EQ(directory.relations(0).count(), 3U);
}

TEST_F(RunRecordWriterTest, ARegionThatEndsEarlyIsUnreadableFromThere) {
    format::RegionHeader header;
    header.region_kind = format::RegionKind::kHeap;
    header.address = 0x1000;
    header.total = 10;
    EXPECT_EQ(region_ref(header, {.offset = 5, .here = 10}).state(), 0U);
    const auto cut = region_ref(header, {.offset = 5, .here = 9, .striped = true});
    EXPECT_EQ(cut.state(), static_cast<std::uint32_t>(format::RegionState::kUnreadable));
    EXPECT_EQ(cut.here(), 9U);
    EXPECT_TRUE(cut.striped());
}

TEST_F(RunRecordWriterTest, TheIndexOfBinariesIsPaged) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
    for (std::uint64_t number = 0; number <= limits::kBinariesOfAnIndexPage; ++number) {
        entries.emplace_back(number * 16, number);
    }
    records::Trailer trailer;
    ASSERT_TRUE(append_binary_index(*writer_, 3, entries, *trailer.mutable_binary_pages()));
    ASSERT_EQ(trailer.binary_pages_size(), 2);
    EXPECT_EQ(trailer.binary_pages(0).highest_address(), (limits::kBinariesOfAnIndexPage - 1) * 16);
    EXPECT_EQ(trailer.binary_pages(1).lowest_address(), limits::kBinariesOfAnIndexPage * 16);
    EXPECT_EQ(trailer.binary_pages(1).count(), 1U);
    EXPECT_EQ(trailer.binary_pages(1).run(), 3U);
}

}  // namespace
}  // namespace beamdump
