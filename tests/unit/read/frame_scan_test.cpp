#include "support/dump_builder.h"
#include "support/memory_file.h"

#include <libdump/read/file/file_header.h>
#include <libdump/read/frames/frame_scan.h>

#include <gtest/gtest.h>

#include <string_view>

namespace beamdump::test {
namespace {

using namespace std::string_view_literals;

struct Searched {
    ScannedFrames found;
    std::uint64_t file_bytes = 0;
    std::uint64_t bytes_read = 0;
};

/// The search through a dump's header and 4 MB of nothing but `pattern`.
Searched search(std::string_view pattern) {
    constexpr std::size_t kBytes = 4'000'000;
    auto bytes = DumpBuilder::whole({.frame_bytes = 1024});
    bytes.resize(kFileHeaderBytes);
    while (bytes.size() < kBytes) {
        const auto more = std::as_bytes(std::span(pattern));
        bytes.insert(bytes.end(), more.begin(), more.end());
    }
    const MemoryFile file(bytes);
    auto source = expect_value(FileSource::open(file.path()));
    const auto header = expect_value(read_file_header(source));
    auto loader = expect_value(FrameLoader::create(header));
    Searched searched{.found = expect_value(scan_frames(source, loader, header, [](auto&&) {})),
                      .file_bytes = bytes.size(),
                      .bytes_read = source.bytes_read()};
    EXPECT_TRUE(searched.found.frames.frames().empty());
    EXPECT_FALSE(searched.found.tail);
    return searched;
}

TEST(FrameScan, NothingButZstdsMagicIsReadOnce) {
    const auto searched = search("\x28\xb5\x2f\xfd"sv);
    EXPECT_FALSE(searched.found.gave_up);
    EXPECT_LT(searched.bytes_read, searched.file_bytes + 100'000);
}

/// Whatever passes for the begin of a frame or of the tail costs reads of its own.
TEST(FrameScan, TheSearchIsGivenUpWhereAllLooksLikeFramesOrTails) {
    // A zstd header with a size of 256 bytes and a checksum; the magic of the tail.
    for (const auto pattern : {"\x28\xb5\x2f\xfd\x64\0\0"sv, "\x5c\x2a\x4d\x18"sv}) {
        const auto searched = search(pattern);
        EXPECT_TRUE(searched.found.gave_up);
        EXPECT_LT(searched.bytes_read, 3 * searched.file_bytes + (64U << 20U));
    }
}

}  // namespace
}  // namespace beamdump::test
