#include <libdump/base/bytes.h>
#include <libdump/base/return_if_error.h>
#include <libdump/coding/record_coding.h>
#include <libdump/read/frames/frame_loader.h>

#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <utility>

namespace beamdump {

namespace {

/// Frame_Header_Descriptor of RFC 8878, 3.1.1.1.1: the byte after the magic, bit 2.
constexpr std::size_t kDescriptorOffset = 4;
constexpr std::byte kChecksumFlag{0x04};
constexpr std::size_t kZstdChecksumBytes = 4;
constexpr const char* kBadRecords = "its records are invalid, or do not add up to its length";

std::unexpected<Error> corrupt(std::string message) {
    return fail(ErrorCode::kCorrupt, std::move(message));
}

std::string place(const FileSource& file, const FrameRef& where) {
    return fmt::format("frame {} of {} ({} bytes at byte {})", where.sequence, file.name(),
                       where.compressed_bytes, where.file_offset);
}

}  // namespace

void FrameLoader::FreeContext::operator()(ZSTD_DCtx_s* context) const {
    ZSTD_freeDCtx(context);
}

Result<FrameLoader> FrameLoader::create(const format::FileHeader& header) {
    return create(header.dump_id);
}

Result<FrameLoader> FrameLoader::create(std::uint64_t dump_id) {
    std::unique_ptr<ZSTD_DCtx_s, FreeContext> context(ZSTD_createDCtx());
    if (context == nullptr) {
        return fail(ErrorCode::kLimit, "no memory for zstd's decompression context");
    }
    return FrameLoader(std::move(context), dump_id);
}

Result<std::uint32_t> FrameLoader::content_bytes(std::span<const std::byte> bytes) {
    if (beamdump::load<std::uint32_t>(bytes) != format::kZstdMagic) {
        return corrupt("no zstd frame starts there");
    }
    const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN ||
        size > format::kMaxFrameBytes || size < format::kFrameStartBytes || size % 8 != 0) {
        return corrupt("its zstd header is damaged");
    }
    if ((bytes[kDescriptorOffset] & kChecksumFlag) == std::byte{0}) {
        return corrupt("its zstd header says that it has no checksum");
    }
    return static_cast<std::uint32_t>(size);
}

Result<std::uint32_t> FrameLoader::frame_bytes(std::span<const std::byte> bytes) {
    const std::size_t size = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
    if (ZSTD_isError(size) != 0U) {
        return fail(ErrorCode::kTruncated,
                    fmt::format("no whole zstd frame is there: {}", ZSTD_getErrorName(size)));
    }
    return static_cast<std::uint32_t>(size);
}

Result<std::vector<std::byte>> FrameLoader::decompress(std::span<const std::byte> compressed) {
    ASSIGN_OR_RETURN(const auto size, content_bytes(compressed));
    std::vector<std::byte> content(size);
    const std::size_t code = ZSTD_decompressDCtx(context_.get(), content.data(), content.size(),
                                                 compressed.data(), compressed.size());
    if (ZSTD_isError(code) != 0U) {
        return corrupt(fmt::format("zstd cannot decompress it: {}", ZSTD_getErrorName(code)));
    }
    if (code != content.size()) {
        return corrupt(
            fmt::format("it decompresses to {} bytes instead of {}", code, content.size()));
    }
    ++decompressed_;
    return content;
}

Result<format::FrameStart> FrameLoader::check_start(std::span<const std::byte> content) const {
    const auto header = beamdump::load<format::RecordHeader>(content);
    const auto start = beamdump::load<format::FrameStart>(content, sizeof(format::RecordHeader));
    if (!header || !start || header->kind != std::to_underlying(format::RecordKind::kFrameStart) ||
        header->payload_bytes != sizeof(format::FrameStart)) {
        return corrupt("it does not begin with a FrameStart");
    }
    if (start->dump_id != dump_id_) {
        return corrupt(fmt::format("it belongs to another dump ({:016x}, not {:016x})",
                                   start->dump_id, dump_id_));
    }
    if (start->content_bytes != content.size()) {
        return corrupt(
            fmt::format("it has {} bytes and claims {}", content.size(), start->content_bytes));
    }
    const auto rest = content.subspan(format::kFrameStartBytes);
    if (start->checksum != XXH64(rest.data(), rest.size(), 0)) {
        return corrupt("its checksum does not hold");
    }
    return *start;
}

/// Null if the records are invalid.
std::shared_ptr<const Frame> FrameLoader::frame_of(const FrameRef& where,
                                                   std::vector<std::byte> content) {
    scratch_.resize(std::max(scratch_.size(), content.size()));
    if (!coding::decode_records(content, scratch_)) {
        return nullptr;
    }
    auto frame = Frame::create(where, std::move(content));
    return frame ? std::make_shared<const Frame>(std::move(*frame)) : nullptr;
}

Result<std::shared_ptr<const Frame>> FrameLoader::load(FileSource& file, const FrameRef& where) {
    compressed_.resize(where.compressed_bytes);
    RETURN_IF_ERROR(file.read(where.file_offset, compressed_));
    const auto damaged = [&](const std::string& why) {
        return corrupt(fmt::format("{} is damaged: {}", place(file, where), why));
    };
    const std::size_t checksum_offset =
        compressed_.size() - std::min(compressed_.size(), kZstdChecksumBytes);
    if (beamdump::load<std::uint32_t>(compressed_, checksum_offset) != where.checksum) {
        return damaged("its zstd checksum is not the one in the seek table");
    }
    auto content = decompress(compressed_);
    if (!content) {
        return damaged(content.error().message);
    }
    if (content->size() != where.content_bytes) {
        return damaged(fmt::format("it holds {} bytes, and the seek table says {}", content->size(),
                                   where.content_bytes));
    }
    const auto start = check_start(*content);
    if (!start) {
        return damaged(start.error().message);
    }
    if (start->sequence != where.sequence || start->flat_offset != where.flat_offset) {
        return damaged(
            fmt::format("it says that it is frame {} at flat offset {}, which should "
                        "be {} at {}",
                        start->sequence, start->flat_offset, where.sequence, where.flat_offset));
    }
    auto frame = frame_of(where, std::move(*content));
    return frame ? Result<std::shared_ptr<const Frame>>(std::move(frame)) : damaged(kBadRecords);
}

Result<std::shared_ptr<const Frame>> FrameLoader::recover(std::span<const std::byte> compressed,
                                                          std::uint64_t file_offset) {
    ASSIGN_OR_RETURN(const auto size, frame_bytes(compressed));
    const auto whole = compressed.first(size);
    ASSIGN_OR_RETURN(auto content, decompress(whole));
    ASSIGN_OR_RETURN(const auto start, check_start(content));
    // Positions in a file or stream cannot exceed these.
    if (start.sequence > UINT32_MAX || start.flat_offset > INT64_MAX - format::kMaxFrameBytes ||
        start.flat_offset % 8 != 0) {
        return corrupt(fmt::format("it claims to be frame {} at flat offset {}", start.sequence,
                                   start.flat_offset));
    }
    const FrameRef where{
        .file_offset = file_offset,
        .flat_offset = start.flat_offset,
        .compressed_bytes = size,
        .content_bytes = static_cast<std::uint32_t>(content.size()),
        .sequence = static_cast<std::uint32_t>(start.sequence),
        .checksum = load_known<std::uint32_t>(whole, whole.size() - kZstdChecksumBytes)};
    auto frame = frame_of(where, std::move(content));
    return frame ? Result<std::shared_ptr<const Frame>>(std::move(frame)) : corrupt(kBadRecords);
}

}  // namespace beamdump
