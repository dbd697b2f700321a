#include "support/memory_sink.h"
#include "support/temporary_directory.h"

#include <libdump/format/process_row.h>
#include <libdump/read/dump_reader.h>
#include <libdump/write/process_index_writer.h>

#include <gtest/gtest.h>

#include <fstream>

namespace beamdump {
namespace {

constexpr std::uint64_t kRows = 10'000;  // more than two pages

/// Writes kRows rows and opens the dump again.
class ProcessIndexWriterTest : public ::testing::Test {
  protected:
    void SetUp() override {
        auto content = std::make_shared<test::SinkContent>();
        auto writer = DumpWriter::create(std::make_unique<test::MemorySink>(content), {});
        ASSERT_TRUE(writer) << writer.error().message;
        ProcessIndexWriter index(*writer);
        for (std::uint64_t i = 0; i < kRows; ++i) {
            records::ProcessRow row;
            row.set_owner_id(i);
            row.set_memory_bytes((i * 7919) % kRows);
            row.set_reductions(i);
            row.set_void_reason(i % 100 == 0 ? records::VOID_REASON_RUNNING
                                             : records::VOID_REASON_NONE);
            if (i % 2 == 0) {
                row.set_message_queue_length(i);
            }
            ASSERT_TRUE(index.add(row));
        }
        records::Trailer trailer;
        ASSERT_TRUE(index.finish(trailer));
        *trailer.mutable_totals() = index.totals();
        ASSERT_TRUE(writer->finish(trailer));
        const auto path = directory_.path() / "index.beamdump";
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(content->bytes.data()),
                   static_cast<std::streamsize>(content->bytes.size()));
        auto reader = DumpReader::open(path);
        ASSERT_TRUE(reader) << reader.error().message;
        reader_.emplace(std::move(*reader));
    }

    std::vector<std::uint64_t> column(records::ProcessColumnKind kind) {
        std::vector<std::uint64_t> values;
        for (const auto& page : reader_->trailer().process_pages()) {
            EXPECT_EQ(page.first_row(), values.size());
            auto read = reader_->message_at<records::ProcessColumn>(
                page.column_offset(kind), format::RecordKind::kProcessColumn);
            if (!read) {
                ADD_FAILURE() << read.error().message;
                return values;
            }
            EXPECT_EQ(read->column(), kind);
            EXPECT_EQ(static_cast<std::uint64_t>(read->value_plus_one_size()), page.rows());
            values.insert(values.end(), read->value_plus_one().begin(),
                          read->value_plus_one().end());
        }
        return values;
    }

    test::TemporaryDirectory directory_;
    std::optional<DumpReader> reader_;
};

TEST_F(ProcessIndexWriterTest, ColumnsHoldEveryRowAndUnknownIsNotZero) {
    const auto owners = column(records::PROCESS_COLUMN_OWNER_ID);
    const auto queues = column(records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH);
    ASSERT_EQ(owners.size(), kRows);
    ASSERT_EQ(queues.size(), kRows);
    for (std::uint64_t i = 0; i < kRows; ++i) {
        EXPECT_EQ(owners[i], i + 1);
        EXPECT_EQ(queues[i], i % 2 == 0 ? i + 1 : 0);
    }
}

TEST_F(ProcessIndexWriterTest, TopListsHoldTheLargest) {
    ASSERT_EQ(reader_->trailer().top_size(), 3);
    const auto& memory = reader_->trailer().top(0);
    ASSERT_EQ(memory.by(), records::PROCESS_COLUMN_MEMORY_BYTES);
    ASSERT_EQ(memory.row_size(), 20);
    for (int i = 0; i < memory.row_size(); ++i) {
        EXPECT_EQ(memory.row(i).memory_bytes(), kRows - 1 - static_cast<std::uint64_t>(i));
    }
}

TEST_F(ProcessIndexWriterTest, TotalsAddUp) {
    const auto& totals = reader_->trailer().totals();
    EXPECT_EQ(totals.processes(), kRows);
    EXPECT_EQ(totals.processes_void(), kRows / 100);
    EXPECT_EQ(totals.void_by_reason(records::VOID_REASON_RUNNING), kRows / 100);
    EXPECT_EQ(totals.process_memory_bytes(), kRows * (kRows - 1) / 2);
}

TEST(ProcessTotals, AreAbsentWhereNoProcessHasTheValue) {
    records::Totals totals;
    add_to_totals({}, totals);
    EXPECT_EQ(totals.processes(), 1U);
    EXPECT_FALSE(totals.has_process_memory_bytes());
    EXPECT_FALSE(totals.has_heap_words());
    records::ProcessRow row;
    row.set_memory_bytes(0);
    add_to_totals(row, totals);
    EXPECT_TRUE(totals.has_process_memory_bytes());
}

}  // namespace
}  // namespace beamdump
