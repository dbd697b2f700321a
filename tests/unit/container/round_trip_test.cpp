#include "support/dump_builder.h"
#include "support/memory_file.h"
#include "walk.h"

#include <gtest/gtest.h>

#include <numeric>

namespace beamdump::test {
namespace {

using format::RecordKind;

DumpReader open_bytes(const MemoryFile& file, const DumpReaderOptions& options = {}) {
    return expect_value(DumpReader::open(file.path(), options));
}

format::RegionHeader heap_header(std::uint64_t words) {
    return {.owner_kind = format::OwnerKind::kProcess,
            .region_kind = format::RegionKind::kHeap,
            .term_scheme = format::TermScheme::kOtp25,
            .owner_id = 7,
            .address = kHeapBase,
            .total = words};
}

std::vector<std::uint64_t> counted_words(std::uint64_t count) {
    std::vector<std::uint64_t> words(count);
    std::iota(words.begin(), words.end(), 1000);
    return words;
}

TEST(RoundTrip, AllRecordsComeBackInOrder) {
    DumpBuilder builder({.frame_bytes = 1024});
    builder.add_all();
    const MemoryFile file(builder.finish());
    DumpReader reader = open_bytes(file);
    EXPECT_FALSE(reader.damage());
    EXPECT_EQ(reader.recovered(), nullptr);
    EXPECT_GT(reader.frames(), 1U);
    EXPECT_EQ(reader.trailer().SerializeAsString(), builder.trailer().SerializeAsString());
    const Walked walked = walk(reader);
    EXPECT_TRUE(walked.errors.empty());
    ASSERT_FALSE(walked.records.empty());
    EXPECT_EQ(walked.records.front().kind, RecordKind::kCapture);
    EXPECT_EQ(walked.records.back().kind, RecordKind::kTrailer);
    const auto count = [&](RecordKind kind) {
        return std::ranges::count(walked.records, kind, &SeenRecord::kind);
    };
    EXPECT_EQ(count(RecordKind::kProcess), 4);
    EXPECT_EQ(count(RecordKind::kProcessEnd), 4);
    EXPECT_EQ(count(RecordKind::kRegion), 9);
    EXPECT_EQ(count(RecordKind::kAtoms), 2);
}

TEST(RoundTrip, MessagesAreFoundByTheTrailersOffsets) {
    const MemoryFile file(DumpBuilder::whole({.frame_bytes = 1024}));
    DumpReader reader = open_bytes(file);
    const auto node = expect_value(
        reader.message_at<records::Node>(reader.trailer().node_offset(), RecordKind::kNode));
    EXPECT_EQ(node.otp_release(), "25");
    const auto wrong =
        reader.message_at<records::Node>(reader.trailer().capture_offset(), RecordKind::kNode);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::kCorrupt);
    const auto inside = reader.record_at(reader.trailer().node_offset() + 8);
    ASSERT_FALSE(inside);
    EXPECT_EQ(inside.error().code, ErrorCode::kCorrupt);
}

/// What the operating system gives need not be UTF-8.
TEST(RoundTrip, AnyBytesMayStandInText) {
    DumpBuilder builder({.frame_bytes = 1024});
    records::Node node;
    node.add_arguments("caf\xe9");
    const std::uint64_t offset = builder.append(RecordKind::kNode, node);
    builder.trailer().add_warning("cannot read caf\xe9");
    const MemoryFile file(builder.finish());
    DumpReader reader = open_bytes(file);
    EXPECT_FALSE(reader.damage());
    EXPECT_EQ(reader.trailer().warning(0), "cannot read caf\xe9");
    const auto got = expect_value(reader.message_at<records::Node>(offset, RecordKind::kNode));
    EXPECT_EQ(got.arguments(0), "caf\xe9");
}

/// A region of every size around the limits of a frame comes back word by word, by its placement.
TEST(RoundTrip, RegionsOfBoundarySizes) {
    constexpr std::uint32_t kFrame = 1024;
    const std::uint64_t piece = format::stripe_data_bytes(kFrame) / 8;
    std::vector<std::uint64_t> sizes;
    for (const std::uint64_t pieces : {0U, 1U, 2U, 3U}) {
        for (const std::uint64_t near : {0U, 1U, 2U, 7U}) {
            sizes.push_back(pieces * piece + near);
            sizes.push_back(pieces * piece >= near ? pieces * piece - near : 0);
        }
    }
    DumpBuilder builder({.frame_bytes = kFrame});
    builder.add_node();
    struct Placed {
        std::uint64_t size;
        DumpWriter::Placement placement;
    };
    std::vector<Placed> placed;
    for (const std::uint64_t size : sizes) {
        const auto words = counted_words(size);
        placed.push_back({size, expect_value(builder.writer().append_region(heap_header(size),
                                                                            fill_from(words)))});
        records::Epoch between;
        between.set_number(static_cast<std::uint32_t>(size));
        builder.append(RecordKind::kEpoch, between);
    }
    const MemoryFile file(builder.finish());
    DumpReader reader = open_bytes(file);
    for (const Placed& region : placed) {
        SCOPED_TRACE(region.size);
        EXPECT_EQ(region.placement.here, region.size);
        EXPECT_EQ(region.placement.striped, region.size > piece);
        const auto record = expect_value(reader.record_at(region.placement.offset));
        ASSERT_EQ(record.kind, RecordKind::kRegion);
        const auto expected = counted_words(region.size);
        for (std::uint64_t i = 0; i < region.size; ++i) {
            std::uint64_t word = 0;
            const std::uint64_t offset =
                format::stripe_offset(region.placement.offset, i * 8, kFrame);
            expect_value(reader.read(offset, std::as_writable_bytes(std::span(&word, 1))));
            ASSERT_EQ(word, expected[i]) << "word " << i;
        }
    }
}

}  // namespace
}  // namespace beamdump::test
