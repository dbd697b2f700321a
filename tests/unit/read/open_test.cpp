#include "support/dump_builder.h"
#include "support/memory_file.h"
#include "support/temporary_directory.h"

#include <libdump/read/dump_reader.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <sys/stat.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;

Error open_error(const std::filesystem::path& path) {
    const auto reader = DumpReader::open(path);
    return reader ? Error{ErrorCode::kUsage, "it opened"} : reader.error();
}

Error error_of_content(std::string_view content) {
    return open_error(MemoryFile(std::as_bytes(std::span(content))).path());
}

/// A whole dump with another header, whose checksum holds.
Error error_with_header(const std::function<void(format::FileHeader&)>& change) {
    auto bytes = DumpBuilder::whole({.frame_bytes = 4096});
    format::FileHeader header;
    std::memcpy(&header, bytes.data() + 8, sizeof(header));
    change(header);
    header.checksum = XXH64(&header, offsetof(format::FileHeader, checksum), 0);
    std::memcpy(bytes.data() + 8, &header, sizeof(header));
    return open_error(MemoryFile(bytes).path());
}

TEST(Open, OtherFilesAreNamed) {
    EXPECT_EQ(error_of_content("").code, ErrorCode::kNotADump);
    EXPECT_THAT(error_of_content("").message, HasSubstr("is empty"));
    EXPECT_THAT(error_of_content("=erl_crash_dump:0.5\n").message, HasSubstr("Erlang crash dump"));
    EXPECT_EQ(error_of_content("=erl_crash_dump:0.5\n").code, ErrorCode::kNotADump);
    EXPECT_EQ(error_of_content(std::string(100000, 'x')).code, ErrorCode::kNotADump);
}

TEST(Open, PathsThatAreNoFilesAreNamed) {
    const TemporaryDirectory directory;
    EXPECT_EQ(open_error(directory.path() / "none").code, ErrorCode::kNotFound);
    EXPECT_THAT(open_error(directory.path()).message, HasSubstr("is a directory"));
    const auto pipe = directory.path() / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT(open_error(pipe).message, HasSubstr("is a pipe"));
    EXPECT_THAT(open_error(std::filesystem::path("/dev/null")).message, HasSubstr("is a device"));
}

TEST(Open, ANewerMajorVersionIsRefusedByItsNumber) {
    const Error error = error_with_header([](auto& header) {
        header.major = 2;
        header.minor = 5;
    });
    EXPECT_EQ(error.code, ErrorCode::kNewerVersion);
    EXPECT_THAT(error.message, HasSubstr("version 2.5"));
}

TEST(Open, ANewerMinorVersionIsRead) {
    EXPECT_EQ(error_with_header([](auto& header) { header.minor = 77; }).message, "it opened");
}

TEST(Open, AHeaderThatMakesNoSenseIsRefused) {
    for (const std::uint32_t frame_bytes :
         {0U, 8U, 4097U, format::kMaxFrameBytes + 8, UINT32_MAX}) {
        const Error error =
            error_with_header([&](auto& header) { header.frame_bytes = frame_bytes; });
        EXPECT_EQ(error.code, ErrorCode::kCorrupt) << frame_bytes;
        EXPECT_THAT(error.message, HasSubstr(std::to_string(frame_bytes)));
    }
}

TEST(Open, AHeaderAloneIsNamed) {
    const auto bytes = DumpBuilder::whole({.frame_bytes = 4096});
    const Error header = open_error(MemoryFile(std::span(bytes).first(56)).path());
    EXPECT_EQ(header.code, ErrorCode::kTruncated);
    EXPECT_THAT(header.message, HasSubstr("the header of a dump and nothing else"));
    const Error part = open_error(MemoryFile(std::span(bytes).first(20)).path());
    EXPECT_EQ(part.code, ErrorCode::kTruncated);
    EXPECT_THAT(part.message, HasSubstr("20 of 56 bytes"));
}

/// Header, footer, tail, seek table and the trailer's frame: no more, however long the dump.
TEST(Open, ReadsTheEndsAndTheTrailersFrame) {
    const auto bytes =
        DumpBuilder::whole({.frame_bytes = 4096}, {.processes = 500, .heap_words = 1000});
    const MemoryFile file(bytes);
    auto reader = expect_value(DumpReader::open(file.path()));
    const std::uint64_t table_bytes = (reader.frames() + 2) * 12 + 17;
    EXPECT_GT(reader.frames(), 900U);
    EXPECT_EQ(reader.stats().frames_decompressed, 1U);
    EXPECT_LE(reader.stats().file_bytes_read, 512 + 9 + 64 + table_bytes + 4096);
    EXPECT_LT(reader.stats().file_bytes_read, bytes.size() / 5);
}

TEST(Open, ReadingHoldsNoMoreThanTheCacheAndDecompressesOnce) {
    const MemoryFile file(
        DumpBuilder::whole({.frame_bytes = 4096}, {.processes = 50, .heap_words = 1000}));
    auto reader = expect_value(DumpReader::open(file.path(), {.cache_bytes = 20000}));
    std::vector<std::byte> all(reader.flat_bytes());
    expect_value(reader.read(0, all));
    EXPECT_LE(reader.stats().frames_decompressed, reader.frames() + 1);
    const auto behind = reader.read(reader.flat_bytes() - 1, std::span(all).first(2));
    ASSERT_FALSE(behind);
    EXPECT_EQ(behind.error().code, ErrorCode::kCorrupt);
    EXPECT_FALSE(reader.read(UINT64_MAX, std::span(all).first(2)));
    EXPECT_TRUE(reader.read(reader.flat_bytes(), {}));
}

}  // namespace
}  // namespace beamdump::test
