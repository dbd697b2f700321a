#include "open_bytes.h"

#include <libdump/model/messages.h>

#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

TEST(ProcessRun, LoadsWhatTheDumpHolds) {
    OpenedBytes opened(DumpBuilder::whole(small_frames()));
    const ProcessRun run = opened.run("<0.2.0>");
    EXPECT_EQ(run.owner_id(), 2U);
    EXPECT_FALSE(run.is_void());
    EXPECT_EQ(run.process.reductions(), 2000U);
    ASSERT_NE(run.region(format::RegionKind::kHeap), nullptr);
    EXPECT_EQ(run.region(format::RegionKind::kHeap)->here, 32U);
    EXPECT_EQ(run.region(format::RegionKind::kOldHeap), nullptr);
    EXPECT_EQ(run.directory.messages.size(), 1U);
}

TEST(ProcessRun, RefusesARowOfAnotherProcess) {
    OpenedBytes opened(DumpBuilder::whole(small_frames()));
    auto row = expect_value(opened.dump().find_process("<0.2.0>"));
    row.set_owner_id(3);
    EXPECT_EQ(ProcessRun::load(opened.dump().reader(), row).error().code, ErrorCode::kCorrupt);
}

TEST(Directory, FollowsItsPagesBackwards) {
    DumpBuilder builder(small_frames());
    builder.add_node();
    std::uint64_t previous = 0;
    for (std::uint64_t page_number = 0; page_number < 5; ++page_number) {
        records::RunDirectory page;
        page.set_previous_offset(previous);
        auto* messages = page.add_messages();
        messages->set_offset(1000 + page_number);
        messages->set_first_index(page_number * 10);
        previous = builder.append(format::RecordKind::kRunDirectory, page);
    }
    records::RunDirectory last;
    last.set_previous_offset(previous);
    OpenedBytes opened(builder.finish());
    const auto directory =
        expect_value(read_directory(opened.dump().reader(), last, previous + 1000));
    ASSERT_EQ(directory.messages.size(), 5U);
    for (std::uint64_t i = 0; i < 5; ++i) {
        EXPECT_EQ(directory.messages[i].first_index, i * 10);
    }
}

TEST(Directory, RefusesAChainThatGoesForwards) {
    DumpBuilder builder(small_frames());
    builder.add_node();
    records::RunDirectory page;
    page.set_previous_offset(1'000'000);
    const std::uint64_t offset = builder.append(format::RecordKind::kRunDirectory, page);
    records::RunDirectory last;
    last.set_previous_offset(offset);
    OpenedBytes opened(builder.finish());
    const auto directory = read_directory(opened.dump().reader(), last, offset + 1000);
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().code, ErrorCode::kCorrupt);
}

TEST(MessageWalker, GivesAllInOrder) {
    DumpShape shape;
    shape.messages = 70;
    OpenedBytes opened(DumpBuilder::whole(small_frames(), shape));
    const ProcessRun run = opened.run("<0.1.0>");
    MessageWalker walker(opened.dump().reader(), run);
    for (std::uint64_t i = 0; i < shape.messages; ++i) {
        const auto* entry = expect_value(walker.next());
        ASSERT_NE(entry, nullptr);
        EXPECT_EQ(walker.index(), i);
        EXPECT_EQ(entry->term_word(), i << 4U | 0xFU);
        EXPECT_TRUE(is_message(*entry));
    }
    EXPECT_EQ(expect_value(walker.next()), nullptr);
}

}  // namespace
}  // namespace beamdump::test
