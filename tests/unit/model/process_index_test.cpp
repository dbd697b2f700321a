#include "open_bytes.h"

#include <libdump/format/process_row.h>

#include <gtest/gtest.h>

#include <array>

namespace beamdump::test {
namespace {

DumpShape many_processes() {
    DumpShape shape;
    shape.processes = 50;
    return shape;
}

TEST(ProcessIndex, VisitsTheColumnsAskedFor) {
    OpenedBytes opened(DumpBuilder::whole(small_frames(), many_processes()));
    constexpr std::array kColumns = {records::PROCESS_COLUMN_REDUCTIONS,
                                     records::PROCESS_COLUMN_OWNER_ID,
                                     records::PROCESS_COLUMN_REGISTERED_NAME};
    std::uint64_t seen = 0;
    expect_value(opened.dump().processes().visit(
        kColumns, [&seen](std::uint64_t row, ProcessIndex::Values values) {
            EXPECT_EQ(row, seen++);
            EXPECT_EQ(values[0], (row + 1) * 1000);
            EXPECT_EQ(values[1], row + 1);
            EXPECT_EQ(values[2], std::nullopt);
            return true;
        }));
    EXPECT_EQ(seen, 50U);
}

TEST(ProcessIndex, StopsWhenTold) {
    OpenedBytes opened(DumpBuilder::whole(small_frames(), many_processes()));
    constexpr std::array kColumns = {records::PROCESS_COLUMN_OWNER_ID};
    int seen = 0;
    expect_value(opened.dump().processes().visit(
        kColumns, [&seen](std::uint64_t, ProcessIndex::Values) { return ++seen < 7; }));
    EXPECT_EQ(seen, 7);
}

TEST(ProcessIndex, GivesRowsInTheOrderAskedFor) {
    OpenedBytes opened(DumpBuilder::whole(small_frames(), many_processes()));
    constexpr std::array<std::uint64_t, 3> kWanted = {40, 0, 7};
    const auto rows = expect_value(opened.dump().processes().rows(kWanted));
    ASSERT_EQ(rows.size(), 3U);
    for (std::size_t i = 0; i < kWanted.size(); ++i) {
        EXPECT_EQ(rows[i].owner_id(), kWanted[i] + 1);
        EXPECT_EQ(rows[i].reductions(), (kWanted[i] + 1) * 1000);
        EXPECT_EQ(rows[i].status(), records::PROCESS_STATUS_WAITING);
        EXPECT_FALSE(rows[i].has_registered_name_atom());
    }
}

TEST(ProcessIndex, RefusesRowsBeyondTheEnd) {
    OpenedBytes opened(DumpBuilder::whole(small_frames()));
    constexpr std::array<std::uint64_t, 1> kWanted = {4};
    EXPECT_EQ(opened.dump().processes().rows(kWanted).error().code, ErrorCode::kNotFound);
}

TEST(ProcessIndex, AnswersFromRecoveredRowsToo) {
    OpenedBytes opened(without_trailer(DumpBuilder::whole(small_frames(), many_processes())));
    ASSERT_NE(opened.dump().reader().recovered(), nullptr);
    EXPECT_EQ(opened.dump().processes().size(), 50U);
    const auto row = expect_value(opened.dump().find_process("<0.33.0>"));
    EXPECT_EQ(row.reductions(), 33000U);
    const ProcessRun run = expect_value(ProcessRun::load(opened.dump().reader(), row));
    EXPECT_EQ(run.region(format::RegionKind::kHeap)->here, 32U);
}

TEST(ProcessIndex, ColumnsOfARowComeBack) {
    records::ProcessRow row;
    for (int kind = 1; kind < records::ProcessColumnKind_ARRAYSIZE; ++kind) {
        const auto column = static_cast<records::ProcessColumnKind>(kind);
        EXPECT_EQ(column_value(row, column), std::nullopt) << kind;
        set_column(row, column, 3);
        EXPECT_EQ(column_value(row, column), 3U) << kind;
    }
}

TEST(ProcessIndex, HeapOfACrashDumpsProcessWithMessagesIsUnknown) {
    records::Process process;
    process.set_heap_words(100);
    process.set_old_heap_words(50);
    process.set_fragment_words(7);
    process.set_message_queue_length(1);
    records::ProcessEnd end;
    end.set_owner_id(5);
    const auto heap_words = [&] {
        records::ProcessRow row;
        set_row(process, end, 9, row);
        return column_value(row, records::PROCESS_COLUMN_HEAP_WORDS);
    };
    // Some of the fragments may be those of messages.
    EXPECT_EQ(heap_words(), std::nullopt);
    process.set_message_queue_length(0);
    EXPECT_EQ(heap_words(), 157U);
    process.set_message_queue_length(1);
    end.set_message_words(3);
    EXPECT_EQ(heap_words(), 160U);
}

}  // namespace
}  // namespace beamdump::test
