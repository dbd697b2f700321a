#include <libdump/base/bytes.h>
#include <libdump/base/system_error.h>
#include <libdump/coding/record_coding.h>
#include <libdump/format/format.h>
#include <libdump/write/frame_compressor.h>

#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <new>

namespace beamdump {

namespace {

void seal(FrameBuffer& frame, std::uint64_t dump_id) {
    const std::span content(frame.content);
    const auto records =
        content.subspan(format::kFrameStartBytes, frame.used - format::kFrameStartBytes);
    const format::RecordHeader header{
        .kind = static_cast<std::uint16_t>(format::RecordKind::kFrameStart),
        .flags = 0,
        .payload_bytes = sizeof(format::FrameStart)};
    const format::FrameStart start{.sequence = frame.sequence,
                                   .flat_offset = frame.flat_offset,
                                   .dump_id = dump_id,
                                   .content_bytes = frame.used,
                                   .checksum = XXH64(records.data(), records.size(), 0)};
    store(content, 0, header);
    store(content, sizeof(header), start);
}

}  // namespace

void FrameCompressor::FreeContext::operator()(ZSTD_CCtx_s* context) const {
    ZSTD_freeCCtx(context);
}

Result<FrameCompressor> FrameCompressor::create(int level, std::uint64_t dump_id,
                                                std::uint32_t frame_bytes) try {
    if (level < ZSTD_minCLevel() || level > ZSTD_maxCLevel()) {
        return fail(ErrorCode::kUsage,
                    fmt::format("there is no compression level {}; zstd has {} to {}", level,
                                ZSTD_minCLevel(), ZSTD_maxCLevel()));
    }
    std::unique_ptr<ZSTD_CCtx_s, FreeContext> context(ZSTD_createCCtx());
    if (context == nullptr) {
        return std::unexpected(error_of(std::bad_alloc()));
    }
    for (const auto& [parameter, value] :
         {std::pair{ZSTD_c_compressionLevel, level}, std::pair{ZSTD_c_checksumFlag, 1},
          std::pair{ZSTD_c_contentSizeFlag, 1}}) {
        const std::size_t code = ZSTD_CCtx_setParameter(context.get(), parameter, value);
        if (ZSTD_isError(code) != 0U) {
            return fail(ErrorCode::kUsage, fmt::format("zstd refuses compression level {}: {}",
                                                       level, ZSTD_getErrorName(code)));
        }
    }
    return FrameCompressor(std::move(context), dump_id, std::vector<std::byte>(frame_bytes));
} catch (const std::bad_alloc& failure) {
    return std::unexpected(error_of(failure));
}

Result<void> FrameCompressor::compress(FrameBuffer& frame) {
    // A larger frame holds nothing but the trailer.
    if (frame.used <= scratch_.size()) {
        const auto records = std::span(frame.content).first(frame.used);
        coding::encode_records(records.subspan(format::kFrameStartBytes), scratch_);
    }
    seal(frame, dump_id_);
    const std::size_t code =
        ZSTD_compress2(context_.get(), frame.compressed.data(), frame.compressed.size(),
                       frame.content.data(), frame.used);
    if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) {
        return std::unexpected(error_of(std::bad_alloc()));
    }
    if (ZSTD_isError(code) != 0U) {
        return fail(ErrorCode::kLimit,
                    fmt::format("zstd cannot compress frame {} ({} bytes): {}", frame.sequence,
                                frame.used, ZSTD_getErrorName(code)));
    }
    frame.compressed_bytes = code;
    return {};
}

std::size_t compressed_bound(std::size_t content_bytes) {
    return ZSTD_compressBound(content_bytes);
}

}  // namespace beamdump
