#pragma once

#include "support/memory_sink.h"

#include <libdump/base/bytes.h>
#include <libdump/format/format.h>
#include <libdump/write/frame_compressor.h>
#include <libdump/write/seek_table_builder.h>

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace beamdump::test {

inline constexpr std::uint64_t kDumpId = 0x1234;
inline constexpr std::size_t kFrameBytes = 1024;
inline constexpr std::size_t kPerFrame = kFrameBytes - format::kFrameStartBytes;

/// As many of the records as fit a frame; bytes that are not records are taken as they are.
inline std::span<const std::byte> next_part(std::span<const std::byte> records) {
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

inline std::vector<std::byte> dump_of(std::span<const std::byte> records, bool tail,
                                      bool lose_frame, std::uint64_t trailer_offset) {
    static FrameCompressor compressor = *FrameCompressor::create(1, kDumpId, kFrameBytes);
    const auto content = std::make_shared<SinkContent>();
    MemorySink sink(content);
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

/// A dump whose records are arbitrary bytes, in frames with valid checksums. The bits of byte 0 of
/// `input` select whether the dump has a tail (1) and whether a frame is lost (2); bytes 1 to 8 are
/// the trailer offset in the tail; the rest are the records, split into frames. nullopt if `input`
/// has fewer than these nine bytes.
inline std::optional<std::vector<std::byte>> dump_of(std::span<const std::byte> input) {
    const auto trailer_offset = load<std::uint64_t>(input, 1);
    if (!trailer_offset) {
        return std::nullopt;
    }
    const auto flags = std::to_integer<unsigned>(input[0]);
    return dump_of(input.subspan(9), (flags & 1U) != 0, (flags & 2U) != 0, *trailer_offset);
}

}  // namespace beamdump::test
