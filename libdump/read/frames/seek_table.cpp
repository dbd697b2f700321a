#include <libdump/base/bytes.h>
#include <libdump/base/return_if_error.h>
#include <libdump/read/file/file_header.h>
#include <libdump/read/frames/seek_table.h>

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <span>
#include <vector>

namespace beamdump {

namespace {

struct Entry {
    std::uint32_t compressed_bytes;
    std::uint32_t content_bytes;
    std::uint32_t checksum;
};
static_assert(sizeof(Entry) == format::kSeekTableEntryBytes);

std::unexpected<Error> bad_table(const FileSource& file, std::string_view what) {
    return fail(ErrorCode::kCorrupt, fmt::format("the seek table of {} {}", file.name(), what));
}

/// Bytes of the seek table's whole skippable frame, from the file's last nine bytes.
Result<std::uint64_t> table_bytes(FileSource& file) {
    std::array<std::byte, format::kSeekTableFooterBytes> footer{};
    constexpr std::uint64_t kLeast = kFileHeaderBytes + kTailFrameBytes + footer.size();
    if (file.size() < kLeast) {
        return fail(ErrorCode::kTruncated,
                    fmt::format("{} ends before any seek table", file.name()));
    }
    RETURN_IF_ERROR(file.read(file.size() - footer.size(), footer));
    if (load<std::uint32_t>(footer, 5) != format::kSeekTableFooterMagic ||
        load<std::uint8_t>(footer, 4) != format::kSeekTableHasChecksums) {
        return fail(ErrorCode::kTruncated,
                    fmt::format("{} does not end with a seek table", file.name()));
    }
    const std::uint64_t entries = load_known<std::uint32_t>(footer, 0);
    const std::uint64_t bytes =
        kSkippableHeaderBytes + entries * format::kSeekTableEntryBytes + footer.size();
    if (entries < 2 || bytes > file.size() - kFileHeaderBytes - kTailFrameBytes) {
        return bad_table(file, fmt::format("claims {} entries in {} bytes", entries, file.size()));
    }
    return bytes;
}

/// Turns the table's entries into frames and checks that they cover file and stream exactly.
Result<FrameIndex> index_of(const FileSource& file, std::span<const std::byte> entries,
                            const format::Tail& tail) {
    const std::size_t count = entries.size() / sizeof(Entry);
    if (count - 2 != tail.frames) {
        return bad_table(
            file, fmt::format("lists {} frames, and the tail says {}", count - 2, tail.frames));
    }
    FrameIndex index;
    std::uint64_t file_offset = 0;
    std::uint64_t flat_offset = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const Entry entry = load_known<Entry>(entries, i * sizeof(Entry));
        const bool ours = i == 0 || i == count - 1;
        const bool plausible =
            ours ? entry.content_bytes == 0 &&
                       entry.compressed_bytes == (i == 0 ? kFileHeaderBytes : kTailFrameBytes)
                 : entry.content_bytes >= format::kFrameStartBytes &&
                       entry.content_bytes <= format::kMaxFrameBytes &&
                       entry.compressed_bytes <= format::max_compressed_bytes(entry.content_bytes);
        if (!plausible) {
            return bad_table(file, fmt::format("says that frame {} has {} bytes in {}", i,
                                               entry.content_bytes, entry.compressed_bytes));
        }
        if (!ours) {
            index.add({.file_offset = file_offset,
                       .flat_offset = flat_offset,
                       .compressed_bytes = entry.compressed_bytes,
                       .content_bytes = entry.content_bytes,
                       .sequence = static_cast<std::uint32_t>(i - 1),
                       .checksum = entry.checksum});
        }
        file_offset += entry.compressed_bytes;
        flat_offset += entry.content_bytes;
    }
    const std::uint64_t table_start =
        file.size() - (kSkippableHeaderBytes + entries.size() + format::kSeekTableFooterBytes);
    if (file_offset != table_start || flat_offset != tail.flat_bytes) {
        return bad_table(file, fmt::format("covers {} bytes of the file and {} of the stream, not "
                                           "{} and {}",
                                           file_offset, flat_offset, table_start, tail.flat_bytes));
    }
    return index;
}

}  // namespace

std::optional<format::Tail> read_tail(FileSource& file, std::uint64_t file_offset,
                                      const format::FileHeader& header) {
    std::array<std::byte, kTailFrameBytes> bytes{};
    if (file_offset > file.size() || file.size() - file_offset < bytes.size() ||
        !file.read(file_offset, bytes)) {
        return std::nullopt;
    }
    const auto tail = load_known<format::Tail>(bytes, kSkippableHeaderBytes);
    if (load<std::uint32_t>(bytes, 0) != format::kTailSkippableMagic ||
        load<std::uint32_t>(bytes, 4) != sizeof(format::Tail) || tail.text != format::kTailText ||
        tail.checksum != XXH64(&tail, offsetof(format::Tail, checksum), 0) ||
        tail.dump_id != header.dump_id) {
        return std::nullopt;
    }
    return tail;
}

Result<DumpEnd> read_dump_end(FileSource& file, const format::FileHeader& header) {
    ASSIGN_OR_RETURN(const auto bytes, table_bytes(file));
    const std::uint64_t table_start = file.size() - bytes;
    const auto tail = read_tail(file, table_start - kTailFrameBytes, header);
    if (!tail) {
        return fail(ErrorCode::kCorrupt, fmt::format("the tail of {} (at byte {}) is damaged",
                                                     file.name(), table_start - kTailFrameBytes));
    }
    std::vector<std::byte> table(bytes);
    RETURN_IF_ERROR(file.read(table_start, table));
    if (XXH64(table.data(), table.size(), 0) != tail->seek_table_checksum) {
        return bad_table(file, "is damaged: its checksum does not hold");
    }
    const auto entries =
        std::span(table).subspan(kSkippableHeaderBytes, table.size() - kSkippableHeaderBytes -
                                                            format::kSeekTableFooterBytes);
    ASSIGN_OR_RETURN(auto index, index_of(file, entries, *tail));
    return DumpEnd{.tail = *tail, .frames = std::move(index)};
}

}  // namespace beamdump
