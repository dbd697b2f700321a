#pragma once

#include <libdump/base/error.h>
#include <libdump/write/frame_builder.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

struct ZSTD_CCtx_s;

namespace beamdump {

/// Seals and compresses frames, one at a time; each compression thread has its own.
class FrameCompressor {
  public:
    /// kUsage for a level that zstd does not have. Frames larger than `frame_bytes` must not have
    /// words that can be coded.
    static Result<FrameCompressor> create(int level, std::uint64_t dump_id,
                                          std::uint32_t frame_bytes);

    /// Codes the records, writes the FrameStart, with the checksum of what follows it, and fills
    /// frame.compressed with one zstd frame that has its content size and checksum. Allocates
    /// nothing.
    Result<void> compress(FrameBuffer& frame);

  private:
    struct FreeContext {
        void operator()(ZSTD_CCtx_s* context) const;
    };
    FrameCompressor(std::unique_ptr<ZSTD_CCtx_s, FreeContext> context, std::uint64_t dump_id,
                    std::vector<std::byte> scratch)
        : context_(std::move(context)), dump_id_(dump_id), scratch_(std::move(scratch)) {}

    std::unique_ptr<ZSTD_CCtx_s, FreeContext> context_;
    std::uint64_t dump_id_;
    std::vector<std::byte> scratch_;
};

/// Maximum compressed size of `content_bytes`.
std::size_t compressed_bound(std::size_t content_bytes);

}  // namespace beamdump
