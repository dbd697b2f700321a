#pragma once

#include "frame_buffer.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <memory>

struct ZSTD_CCtx_s;

namespace beamdump {

/// Seals and compresses frames, one at a time; each compression thread has its own.
class FrameCompressor {
  public:
    /// kUsage for a level that zstd does not have.
    static Result<FrameCompressor> create(int level, std::uint64_t dump_id);

    /// Writes the FrameStart, with the checksum of what follows it, and fills frame.compressed with
    /// one zstd frame that has its content size and checksum.
    Result<void> compress(FrameBuffer& frame);

  private:
    struct FreeContext {
        void operator()(ZSTD_CCtx_s* context) const;
    };
    FrameCompressor(std::unique_ptr<ZSTD_CCtx_s, FreeContext> context, std::uint64_t dump_id)
        : context_(std::move(context)), dump_id_(dump_id) {}

    std::unique_ptr<ZSTD_CCtx_s, FreeContext> context_;
    std::uint64_t dump_id_;
};

/// Maximum compressed size of `content_bytes`.
std::size_t compressed_bound(std::size_t content_bytes);

}  // namespace beamdump
