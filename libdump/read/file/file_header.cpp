#include <libdump/base/bytes.h>
#include <libdump/base/return_if_error.h>
#include <libdump/read/file/file_header.h>
#include <libdump/read/file/file_kind.h>

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <vector>

namespace beamdump {

namespace {

/// Bytes needed to recognize other files.
constexpr std::uint64_t kSniffedBytes = 512;

/// The same structure in all major versions: with a wrong checksum nothing in it is used, not even
/// the version.
bool checksum_holds(const format::FileHeader& header) {
    return header.checksum == XXH64(&header, offsetof(format::FileHeader, checksum), 0);
}

/// Whether the bytes may be the beginning of a dump, intact or damaged.
bool begins_as_dump(std::span<const std::byte> start) {
    const std::uint32_t magic = format::kHeaderSkippableMagic;
    const auto same = [&](std::span<const std::byte> wanted, std::size_t offset) {
        const auto got = start.subspan(std::min(offset, start.size()));
        const std::size_t count = std::min(got.size(), wanted.size());
        return count != 0 && std::ranges::equal(got.first(count), wanted.first(count));
    };
    return same(bytes_of(magic), 0) || same(bytes_of(format::kHeaderText), kSkippableHeaderBytes);
}

Result<format::FileHeader> check(const FileSource& file, std::span<const std::byte> start) {
    const auto header = load<format::FileHeader>(start, kSkippableHeaderBytes);
    if (!header) {
        return fail(ErrorCode::kTruncated,
                    fmt::format("{} is cut off inside its header: {} of {} bytes are there",
                                file.name(), start.size(), kFileHeaderBytes));
    }
    const bool framed = load<std::uint32_t>(start, 0) == format::kHeaderSkippableMagic &&
                        load<std::uint32_t>(start, 4) == sizeof(format::FileHeader) &&
                        header->text == format::kHeaderText;
    if (!framed || !checksum_holds(*header)) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("the header of {} (bytes 0 to {}) is damaged: its checksum does "
                                "not hold; get the file again from where it was written",
                                file.name(), kFileHeaderBytes - 1));
    }
    if (header->major > format::kMajorVersion) {
        return fail(ErrorCode::kNewerVersion,
                    fmt::format("{} is a dump of format version {}.{}, and this program reads "
                                "versions up to {}; use the beamdump-analyze that belongs to it",
                                file.name(), header->major, header->minor, format::kMajorVersion));
    }
    if (header->major == 0 || header->frame_bytes < format::kMinFrameBytes ||
        header->frame_bytes > format::kMaxFrameBytes || header->frame_bytes % 8 != 0) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("the header of {} makes no sense: version {}.{}, {} bytes a frame",
                                file.name(), header->major, header->minor, header->frame_bytes));
    }
    return *header;
}

}  // namespace

Result<format::FileHeader> read_file_header(FileSource& file) {
    std::vector<std::byte> start(std::min(file.size(), kSniffedBytes));
    RETURN_IF_ERROR(file.read(0, start));
    if (!begins_as_dump(start)) {
        return fail(ErrorCode::kNotADump, fmt::format("{} is not a beamdump dump: it {}",
                                                      file.name(), describe_other_file(start)));
    }
    return check(file, start);
}

}  // namespace beamdump
