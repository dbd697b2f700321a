// Reads any bytes as a dump's records: they are put into frames whose checksums hold.
//
// Input: byte 0 says with its bits whether the dump gets a tail (1) and whether a frame is lost
// (2); bytes 1 to 8 are the tail's trailer offset; the rest are the records, cut into frames.

#include "exhaust_reader.h"
#include "support/memory_file.h"
#include "support/memory_sink.h"
#include "write/frame_compressor.h"
#include "write/seek_table_builder.h"

#include <libdump/base/bytes.h>

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

namespace {

using namespace beamdump;

constexpr std::uint64_t kDumpId = 0x1234;
constexpr std::size_t kFrameBytes = 1024;
constexpr std::size_t kPerFrame = kFrameBytes - format::kFrameStartBytes;

/// As many of the records as fit a frame; bytes that are no records are taken as they are.
std::span<const std::byte> next_part(std::span<const std::byte> records) {
    std::size_t end = 0;
    while (const auto header = load<format::RecordHeader>(records, end)) {
        const std::size_t bytes = (sizeof(*header) + header->payload_bytes + 7UL) / 8 * 8;
        if (end + bytes > std::min(records.size(), kPerFrame)) {
            break;
        }
        end += bytes;
    }
    return records.first(end != 0 ? end : std::min(records.size(), kPerFrame));
}

template <typename T>
void add_skippable(ByteSink& sink, SeekTableBuilder& table, std::uint32_t magic, T content) {
    content.checksum = XXH64(&content, offsetof(T, checksum), 0);
    const std::uint32_t bytes = sizeof(T);
    (void)sink.write(bytes_of(magic));
    (void)sink.write(bytes_of(bytes));
    (void)sink.write(bytes_of(content));
    (void)table.add(8 + bytes, 0, 0);
}

std::vector<std::byte> dump_of(std::span<const std::byte> records, bool tail, bool lose_frame,
                               std::uint64_t trailer_offset) {
    static FrameCompressor compressor = *FrameCompressor::create(1, kDumpId);
    const auto content = std::make_shared<test::SinkContent>();
    test::MemorySink sink(content);
    SeekTableBuilder table;
    add_skippable(sink, table, format::kHeaderSkippableMagic,
                  format::FileHeader{.frame_bytes = kFrameBytes, .dump_id = kDumpId});
    FrameBuffer frame;
    frame.content.resize(kFrameBytes);
    frame.compressed.resize(compressed_bound(kFrameBytes));
    while (!records.empty()) {
        const auto part = next_part(records);
        records = records.subspan(part.size());
        std::memcpy(frame.content.data() + format::kFrameStartBytes, part.data(), part.size());
        const std::size_t padded = (part.size() + 7) / 8 * 8;
        std::memset(frame.content.data() + format::kFrameStartBytes + part.size(), 0,
                    padded - part.size());
        frame.used = format::kFrameStartBytes + padded;
        (void)compressor.compress(frame);
        const auto compressed = std::span(frame.compressed).first(frame.compressed_bytes);
        if (!lose_frame || frame.sequence != 1) {
            (void)sink.write(compressed);
        }
        (void)table.add(static_cast<std::uint32_t>(compressed.size()),
                        static_cast<std::uint32_t>(frame.used),
                        *load<std::uint32_t>(compressed, compressed.size() - 4));
        ++frame.sequence;
        frame.flat_offset += frame.used;
    }
    if (tail) {
        // The tail's own entry is added before its checksum of the table is taken.
        (void)table.add(8 + sizeof(format::Tail), 0, 0);
        SeekTableBuilder unused;
        add_skippable(sink, unused, format::kTailSkippableMagic,
                      format::Tail{.dump_id = kDumpId,
                                   .trailer_offset = trailer_offset,
                                   .flat_bytes = frame.flat_offset,
                                   .frames = frame.sequence,
                                   .seek_table_checksum = table.checksum()});
        (void)table.write(sink);
    }
    return content->bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto input = std::as_bytes(std::span(data, size));
    const auto trailer_offset = load<std::uint64_t>(input, 1);
    if (!trailer_offset) {
        return 0;
    }
    const auto flags = std::to_integer<unsigned>(input[0]);
    const test::MemoryFile file(
        dump_of(input.subspan(9), (flags & 1U) != 0, (flags & 2U) != 0, *trailer_offset));
    test::exhaust_reader(file.path());
    return 0;
}
