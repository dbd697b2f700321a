#include "support/dump_builder.h"
#include "support/memory_file.h"
#include "walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using format::RecordKind;
using ::testing::ElementsAre;

DumpReader open_abandoned(DumpBuilder& builder) {
    const MemoryFile file(builder.abandon());
    return expect_value(DumpReader::open(file.path()));
}

DumpBuilder started(const DumpShape& shape = {}) {
    DumpBuilder builder({.frame_bytes = 1024}, shape);
    builder.add_node();
    builder.add_atoms(0, {"false", "true", "node@host", "lists", "reverse"});
    builder.add_code();
    builder.add_literals();
    return builder;
}

TEST(RecoveredIndex, SaysWhatTheTrailerWouldHaveSaid) {
    DumpBuilder whole({.frame_bytes = 1024});
    whole.add_all();
    DumpBuilder cut({.frame_bytes = 1024});
    cut.add_all();
    DumpReader reader = open_abandoned(cut);
    const records::Trailer& expected = whole.trailer();
    const records::Trailer& got = reader.trailer();
    ASSERT_NE(reader.recovered(), nullptr);
    EXPECT_EQ(got.capture_offset(), expected.capture_offset());
    EXPECT_EQ(got.node_offset(), expected.node_offset());
    EXPECT_EQ(got.literals_directory_offset(), expected.literals_directory_offset());
    EXPECT_EQ(got.epoch_offset(0), expected.epoch_offset(0));
    EXPECT_EQ(got.catches_offset(0), expected.catches_offset(0));
    ASSERT_EQ(got.atoms_size(), 2);
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(got.atoms(i).SerializeAsString(), expected.atoms(i).SerializeAsString());
    }
    EXPECT_EQ(got.totals().processes(), 4U);
    EXPECT_EQ(got.totals().processes_void(), 0U);
    EXPECT_EQ(got.totals().atoms(), 7U);
    EXPECT_EQ(got.totals().binaries(), 3U);
    EXPECT_EQ(got.totals().binary_bytes(), 100U + 101U + 102U);
    EXPECT_EQ(got.totals().literal_words(), 16U);
    EXPECT_EQ(got.totals().messages(), 8U);
    ASSERT_EQ(got.top_size(), 3);
    ASSERT_EQ(got.top(0).row_size(), 4);
    EXPECT_EQ(got.top(0).row(0).owner_id(), format::owner_id_of(4, 0)) << "largest first";
}

TEST(RecoveredIndex, ListsProcessesModulesLiteralsAndBinaries) {
    DumpBuilder builder = started();
    builder.add_process(1);
    builder.add_process(2);
    builder.add_binaries();
    DumpReader reader = open_abandoned(builder);
    const RecoveredIndex& index = *reader.recovered();
    ASSERT_EQ(index.processes.size(), 2U);
    EXPECT_EQ(index.unfinished_processes, 0U);
    for (const records::ProcessRow& row : index.processes) {
        const auto process = expect_value(
            reader.message_at<records::Process>(row.begin_offset(), RecordKind::kProcess));
        const auto end = expect_value(
            reader.message_at<records::ProcessEnd>(row.end_offset(), RecordKind::kProcessEnd));
        EXPECT_EQ(process.owner_id(), row.owner_id());
        EXPECT_EQ(end.owner_id(), row.owner_id());
        EXPECT_EQ(row.memory_bytes(), end.memory_bytes());
        EXPECT_GT(row.memory_bytes(), 0U);
        EXPECT_EQ(row.status(), records::PROCESS_STATUS_WAITING);
        EXPECT_EQ(row.initial_call().arity(), 2U);
        EXPECT_FALSE(row.has_registered_name_atom());
        EXPECT_FALSE(row.has_current_function());
    }
    ASSERT_EQ(index.modules.size(), 1U);
    EXPECT_EQ(index.modules[0].code_start(), 0x7000U);
    expect_value(
        reader.message_at<records::Module>(index.modules[0].offset(), RecordKind::kModule));
    ASSERT_EQ(index.literals.size(), 1U);
    EXPECT_EQ(index.literals[0].address(), kLiteralBase);
    EXPECT_EQ(index.literals[0].here(), 16U);
    EXPECT_FALSE(index.literals[0].striped());
    ASSERT_EQ(index.binaries.size(), 3U);
    EXPECT_EQ(index.binaries[2].address, kBinaryBase + 128);
    expect_value(reader.message_at<records::Binaries>(index.binaries[2].record_offset,
                                                      RecordKind::kBinaries));
}

TEST(RecoveredIndex, NamesWhatElseTheNodeHas) {
    DumpBuilder builder = started();
    const auto append = [&builder](RecordKind kind) {
        return builder.append(kind, records::Ports());
    };
    const auto rows = append(RecordKind::kEtsRows);
    const auto ports = append(RecordKind::kPorts);
    const auto more_ports = append(RecordKind::kPorts);
    const auto timers = append(RecordKind::kTimers);
    const auto schedulers = append(RecordKind::kScheduler);
    const auto nodes = append(RecordKind::kDistributionEntries);
    const auto terms = append(RecordKind::kPersistentTerms);
    const auto carriers = append(RecordKind::kCarriers);
    const auto more_carriers = append(RecordKind::kCarriers);
    DumpReader reader = open_abandoned(builder);
    const records::Trailer& trailer = reader.trailer();
    EXPECT_THAT(trailer.ets_rows_offset(), ElementsAre(rows));
    EXPECT_THAT(trailer.ports_offset(), ElementsAre(ports, more_ports));
    EXPECT_THAT(trailer.timers_offset(), ElementsAre(timers));
    EXPECT_THAT(trailer.schedulers_offset(), ElementsAre(schedulers));
    EXPECT_THAT(trailer.distribution_offset(), ElementsAre(nodes));
    EXPECT_THAT(trailer.persistent_terms_offset(), ElementsAre(terms));
    EXPECT_THAT(trailer.carriers_offset(), ElementsAre(carriers, more_carriers));
}

TEST(RecoveredIndex, StripedLiteralsAreOneRegion) {
    DumpBuilder builder = started({.literal_words = 500});
    DumpReader reader = open_abandoned(builder);
    ASSERT_EQ(reader.recovered()->literals.size(), 1U);
    EXPECT_EQ(reader.recovered()->literals[0].here(), 500U);
    EXPECT_TRUE(reader.recovered()->literals[0].striped());
    EXPECT_EQ(reader.trailer().totals().literal_words(), 500U);
}

TEST(RecoveredIndex, TheLastConsistentOfSeveralRunsCounts) {
    DumpBuilder builder = started();
    builder.add_process(1, records::VOID_REASON_CHANGED);
    builder.add_process(2);
    builder.add_process(3, records::VOID_REASON_RUNNING);
    builder.add_process(1);
    builder.add_process(2, records::VOID_REASON_CHANGED);
    builder.add_process(3, records::VOID_REASON_LOCKED);
    DumpReader reader = open_abandoned(builder);
    const auto& rows = reader.recovered()->processes;
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].void_reason(), records::VOID_REASON_NONE);
    EXPECT_EQ(rows[1].void_reason(), records::VOID_REASON_NONE);
    EXPECT_EQ(rows[2].void_reason(), records::VOID_REASON_LOCKED);
    EXPECT_EQ(reader.trailer().totals().processes_void(), 1U);
    EXPECT_EQ(reader.trailer().totals().void_by_reason(records::VOID_REASON_LOCKED), 1U);
}

TEST(RecoveredIndex, AProcessWithoutAnEndIsCountedAndNotListed) {
    DumpBuilder builder = started();
    builder.add_process(1);
    records::Process process;
    process.set_owner_id(2);
    builder.append(RecordKind::kProcess, process);
    builder.add_process(3);
    builder.append(RecordKind::kProcess, process);
    DumpReader reader = open_abandoned(builder);
    EXPECT_EQ(reader.recovered()->processes.size(), 2U);
    EXPECT_EQ(reader.recovered()->unfinished_processes, 2U);
}

TEST(RecoveredIndex, AllBinariesThatStoodAtOneAddressAreKeptInTheirOrder) {
    DumpBuilder builder = started();
    builder.add_binaries();
    records::Binaries again;
    again.add_binary()->set_address(kBinaryBase + 64);
    const std::uint64_t offset = builder.append(RecordKind::kBinaries, again);
    DumpReader reader = open_abandoned(builder);
    const auto& binaries = reader.recovered()->binaries;
    ASSERT_EQ(binaries.size(), 4U);
    EXPECT_LT(binaries[0].record_offset, offset);
    EXPECT_EQ(binaries[1].address, kBinaryBase + 64);
    EXPECT_LT(binaries[1].record_offset, offset);
    EXPECT_EQ(binaries[2].address, kBinaryBase + 64);
    EXPECT_EQ(binaries[2].record_offset, offset);
    EXPECT_LT(binaries[3].record_offset, offset);
}

TEST(RecoveredIndex, UnknownRecordsArePassedOver) {
    DumpBuilder builder = started();
    records::Epoch any;
    any.set_number(9);
    builder.append(static_cast<RecordKind>(9999), any);
    builder.append(RecordKind::kTimers, any);
    builder.add_process(1);
    DumpReader reader = open_abandoned(builder);
    EXPECT_EQ(reader.recovered()->processes.size(), 1U);
    EXPECT_EQ(reader.trailer().warning_size(), 0);
}

}  // namespace
}  // namespace beamdump::test
