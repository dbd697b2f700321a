#include "support/dump_builder.h"
#include "support/memory_file.h"
#include "walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using format::RecordKind;
using ::testing::HasSubstr;

const DumpWriterOptions kSmallFrames{.threads = 1, .frame_bytes = 1024};

/// Where the zstd frames of a whole dump end in its file, from its seek table.
std::vector<std::size_t> frame_ends(const std::vector<std::byte>& dump) {
    std::uint32_t entries = 0;
    std::memcpy(&entries, dump.data() + dump.size() - 9, sizeof(entries));
    std::vector<std::size_t> ends;
    std::size_t end = 0;
    for (std::uint32_t i = 0; i + 1 < entries; ++i) {
        std::uint32_t bytes = 0;
        std::memcpy(&bytes, dump.data() + dump.size() - 9 - (entries - i) * 12UL, sizeof(bytes));
        end += bytes;
        if (i != 0) {
            ends.push_back(end);
        }
    }
    return ends;
}

struct Original {
    std::vector<std::byte> bytes;
    std::vector<SeenRecord> records;
    std::vector<std::size_t> frame_ends;
};

Original original(const DumpShape& shape = {}) {
    Original dump;
    dump.bytes = DumpBuilder::whole(kSmallFrames, shape);
    const MemoryFile file(dump.bytes);
    auto reader = expect_value(DumpReader::open(file.path()));
    dump.records = walk(reader).records;
    dump.frame_ends = frame_ends(dump.bytes);
    return dump;
}

/// Every record that was read is one of the original's, unchanged.
void expect_only_true_records(const Walked& walked, const Original& dump) {
    for (const SeenRecord& record : walked.records) {
        const auto found =
            std::ranges::lower_bound(dump.records, record.offset, {}, &SeenRecord::offset);
        ASSERT_TRUE(found != dump.records.end() && *found == record) << "at " << record.offset;
    }
}

bool is_named(ErrorCode code) {
    return code == ErrorCode::kNotADump || code == ErrorCode::kTruncated ||
           code == ErrorCode::kCorrupt || code == ErrorCode::kNewerVersion;
}

TEST(Damage, EveryCutOpensWithAllWholeFramesBeforeIt) {
    const Original dump = original({.processes = 8});
    const MemoryFile file(dump.bytes);
    for (std::size_t size = dump.bytes.size(); size-- > 0;) {
        SCOPED_TRACE(size);
        file.resize(size);
        const auto whole = static_cast<std::uint64_t>(
            std::ranges::count_if(dump.frame_ends, [&](std::size_t end) { return end <= size; }));
        auto reader = DumpReader::open(file.path());
        if (whole == 0) {
            ASSERT_FALSE(reader);
            EXPECT_TRUE(is_named(reader.error().code)) << reader.error().message;
            continue;
        }
        ASSERT_TRUE(reader) << reader.error().message;
        ASSERT_EQ(reader->frames(), whole);
        ASSERT_TRUE(reader->damage());
        EXPECT_FALSE(reader->damage()->what.empty());
        const std::size_t end = dump.frame_ends[whole - 1];
        const bool tail_is_whole = size >= dump.frame_ends.back() + 64;
        EXPECT_EQ(reader->damage()->truncated, !tail_is_whole);
        EXPECT_EQ(reader->damage()->lost_bytes, tail_is_whole ? 0 : size - end);
        const Walked walked = walk(*reader);
        EXPECT_TRUE(walked.errors.empty());
        ASSERT_LE(walked.records.size(), dump.records.size());
        for (std::size_t i = 0; i < walked.records.size(); ++i) {
            ASSERT_EQ(walked.records[i], dump.records[i]);
        }
        const auto expected = static_cast<std::size_t>(std::ranges::count_if(
            dump.records,
            [&](const SeenRecord& record) { return record.offset < reader->flat_bytes(); }));
        EXPECT_EQ(walked.records.size(), expected);
    }
}

/// Whatever byte is wrong: the same records, or a named error for some of them, never others.
TEST(Damage, EveryFlippedByteGivesTheSameRecordsOrANamedError) {
    const Original dump = original({.processes = 6, .heap_words = 200});
    ASSERT_GT(dump.bytes.size(), 3000U);
    const MemoryFile file(dump.bytes);
    std::size_t unopened = 0;
    for (std::size_t at = 0; at < dump.bytes.size(); ++at) {
        for (const std::byte flip : {std::byte{1} << (at % 8), std::byte{0xff}}) {
            SCOPED_TRACE(at);
            const std::byte wrong = dump.bytes[at] ^ flip;
            file.write(at, {&wrong, 1});
            auto reader = DumpReader::open(file.path());
            if (reader) {
                const Walked walked = walk(*reader);
                expect_only_true_records(walked, dump);
                const bool complete = walked.records.size() == dump.records.size();
                EXPECT_TRUE(complete || !walked.errors.empty() || reader->damage());
                for (const Error& error : walked.errors) {
                    EXPECT_TRUE(is_named(error.code)) << error.message;
                }
            } else {
                ++unopened;
                EXPECT_TRUE(is_named(reader.error().code)) << reader.error().message;
                EXPECT_LT(at, 56U) << "only the header is needed for opening";
            }
            file.write(at, {&dump.bytes[at], 1});
            if (HasFatalFailure()) {
                return;
            }
        }
    }
    EXPECT_EQ(unopened, 56U * 2U);
}

TEST(Damage, ADamagedFrameInAWholeDumpIsNamedAndOthersStayReadable) {
    const Original dump = original();
    ASSERT_GT(dump.frame_ends.size(), 4U);
    const MemoryFile file(dump.bytes);
    const std::byte wrong = ~dump.bytes[dump.frame_ends[1] + 40];
    file.write(dump.frame_ends[1] + 40, {&wrong, 1});
    auto reader = expect_value(DumpReader::open(file.path()));
    EXPECT_FALSE(reader.damage());
    const Walked walked = walk(reader);
    ASSERT_EQ(walked.errors.size(), 1U);
    EXPECT_EQ(walked.errors[0].code, ErrorCode::kCorrupt);
    EXPECT_THAT(walked.errors[0].message, HasSubstr("frame 2 of"));
    EXPECT_THAT(walked.errors[0].message,
                HasSubstr("at byte " + std::to_string(dump.frame_ends[1])));
    expect_only_true_records(walked, dump);
    EXPECT_EQ(walked.records.back(), dump.records.back());
}

TEST(Damage, ACutDumpWithADamagedFrameGoesOnBehindIt) {
    const Original dump = original({.processes = 6});
    ASSERT_GT(dump.frame_ends.size(), 5U);
    const std::size_t kept = dump.frame_ends.size() - 2;
    const MemoryFile file(std::span(dump.bytes).first(dump.frame_ends[kept - 1] + 10));
    const std::byte wrong = ~dump.bytes[dump.frame_ends[2] + 60];
    file.write(dump.frame_ends[2] + 60, {&wrong, 1});
    auto reader = expect_value(DumpReader::open(file.path()));
    ASSERT_TRUE(reader.damage());
    EXPECT_TRUE(reader.damage()->truncated);
    EXPECT_EQ(reader.damage()->lost_bytes, dump.frame_ends[3] - dump.frame_ends[2] + 10);
    EXPECT_THAT(reader.damage()->what, HasSubstr("1 of"));
    EXPECT_EQ(reader.frames(), kept - 1);
    const Walked walked = walk(reader);
    ASSERT_EQ(walked.errors.size(), 1U);
    EXPECT_EQ(walked.errors[0].code, ErrorCode::kCorrupt);
    expect_only_true_records(walked, dump);
    const auto lost = std::ranges::find_if(dump.records, [&](const SeenRecord& record) {
        return std::ranges::find(walked.records, record) == walked.records.end();
    });
    ASSERT_NE(lost, dump.records.end());
    std::byte byte{};
    const auto read = reader.read(lost->offset, {&byte, 1});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(read.error().message, HasSubstr("bytes " + std::to_string(dump.frame_ends[2]) +
                                                " to " + std::to_string(dump.frame_ends[3])));
}

TEST(Damage, ADamagedTrailerIsRebuilt) {
    const Original dump = original();
    const MemoryFile file(dump.bytes);
    const std::byte wrong = ~dump.bytes[dump.frame_ends.back() - 1];
    file.write(dump.frame_ends.back() - 1, {&wrong, 1});
    auto reader = expect_value(DumpReader::open(file.path()));
    ASSERT_TRUE(reader.damage());
    EXPECT_FALSE(reader.damage()->truncated);
    EXPECT_THAT(reader.damage()->what, HasSubstr("1 of"));
    ASSERT_NE(reader.recovered(), nullptr);
    EXPECT_EQ(reader.recovered()->processes.size(), 4U);
}

TEST(Damage, BytesBehindTheEndDoNotHideTheDump) {
    const Original dump = original();
    auto longer = dump.bytes;
    longer.resize(longer.size() + 4096);
    const MemoryFile file(longer);
    auto reader = expect_value(DumpReader::open(file.path()));
    ASSERT_TRUE(reader.damage());
    EXPECT_FALSE(reader.damage()->truncated);
    EXPECT_EQ(reader.recovered(), nullptr);
    EXPECT_EQ(walk(reader).records, dump.records);
}

/// Frames of one dump put behind another's are not considered its own.
TEST(Damage, FramesOfAnotherDumpAreLeftOut) {
    const Original dump = original();
    const Original other = original();
    std::vector<std::byte> mixed(
        dump.bytes.begin(), dump.bytes.begin() + static_cast<std::ptrdiff_t>(dump.frame_ends[1]));
    mixed.insert(mixed.end(),
                 other.bytes.begin() + static_cast<std::ptrdiff_t>(other.frame_ends[1]),
                 other.bytes.begin() + static_cast<std::ptrdiff_t>(other.frame_ends[3]));
    const MemoryFile file(mixed);
    auto reader = expect_value(DumpReader::open(file.path()));
    EXPECT_EQ(reader.frames(), 2U);
    EXPECT_EQ(reader.damage()->lost_bytes, mixed.size() - dump.frame_ends[1]);
}

}  // namespace
}  // namespace beamdump::test
