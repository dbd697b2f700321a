#pragma once

#include <libdump/base/error.h>
#include <libdump/format/format.h>
#include <libdump/read/file/file_source.h>
#include <libdump/read/frames/frame.h>

#include <cstdint>
#include <memory>
#include <vector>

struct ZSTD_DCtx_s;

namespace beamdump {

/// Decompresses frames and verifies them: zstd's header and checksum, then the FrameStart's
/// sequence, offset, dump id, length and XXH64, then that records fill the frame. Coded records are
/// decoded, so that nobody else sees one.
class FrameLoader {
  public:
    static Result<FrameLoader> create(const format::FileHeader& header);

    /// One for the same dump, with a context of its own.
    [[nodiscard]] Result<FrameLoader> another() const { return create(dump_id_); }

    /// The frame at `where`, from the seek table or an earlier recover(). kCorrupt names frame and
    /// file offset.
    Result<std::shared_ptr<const Frame>> load(FileSource& file, const FrameRef& where);

    /// A complete frame at the start of `compressed`, which is at `file_offset` of this dump.
    /// Sequence and offset are taken from its FrameStart; the caller compares them with those of
    /// its neighbours.
    Result<std::shared_ptr<const Frame>> recover(std::span<const std::byte> compressed,
                                                 std::uint64_t file_offset);

    /// Size of the zstd frame at the start of `bytes`; kTruncated if it is incomplete. Reads only
    /// its block headers and does not verify the content.
    static Result<std::uint32_t> frame_bytes(std::span<const std::byte> bytes);

    /// Decompressed size in the zstd header at the start of `bytes`, if it is valid for one of this
    /// dump's frames.
    [[nodiscard]] static Result<std::uint32_t> content_bytes(std::span<const std::byte> bytes);

    [[nodiscard]] std::uint64_t decompressed() const { return decompressed_; }

  private:
    struct FreeContext {
        void operator()(ZSTD_DCtx_s* context) const;
    };
    static Result<FrameLoader> create(std::uint64_t dump_id);
    FrameLoader(std::unique_ptr<ZSTD_DCtx_s, FreeContext> context, std::uint64_t dump_id)
        : context_(std::move(context)), dump_id_(dump_id) {}

    Result<std::vector<std::byte>> decompress(std::span<const std::byte> compressed);
    [[nodiscard]] Result<format::FrameStart> check_start(std::span<const std::byte> content) const;

    std::unique_ptr<ZSTD_DCtx_s, FreeContext> context_;
    std::uint64_t dump_id_;
    std::uint64_t decompressed_ = 0;
    [[nodiscard]] std::shared_ptr<const Frame> frame_of(const FrameRef& where,
                                                        std::vector<std::byte> content);

    // Reused.
    std::vector<std::byte> compressed_;
    std::vector<std::byte> scratch_;
};

}  // namespace beamdump
