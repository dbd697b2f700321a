#pragma once

#include <libdump/write/compression_pool.h>
#include <libdump/write/dump_start.h>
#include <libdump/write/dump_writer.h>
#include <libdump/write/frame_builder.h>
#include <libdump/write/seek_table_builder.h>

#include <chrono>
#include <memory>
#include <optional>

namespace beamdump {

/// What a DumpWriter does.
class DumpWriter::Impl {
  public:
    Impl(std::unique_ptr<ByteSink> sink, const DumpWriterOptions& options)
        : sink_(std::move(sink)),
          filter_(options.filter),
          frame_bytes_(options.frame_bytes),
          dump_id_(random_dump_id()) {}
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();

    Result<void> start(const DumpWriterOptions& options);
    Result<void> start_after(const format::WrittenFrames& written,
                             const DumpWriterOptions& options);
    Result<std::uint64_t> append(format::RecordKind kind,
                                 const google::protobuf::MessageLite& message);
    Result<Placement> append_region(format::RegionHeader header, const Fill& fill);
    Result<void> append_frame(std::span<const std::byte> content);
    Result<DumpWriterStats> finish(const records::Trailer& trailer);
    [[nodiscard]] DumpWriterStats stats() const;
    [[nodiscard]] std::chrono::nanoseconds waiting() const { return pool_->waiting(); }
    [[nodiscard]] std::uint64_t max_record_bytes() const { return largest_payload(frame_bytes_); }

  private:
    struct Piece {
        std::uint64_t offset = 0;
        std::uint64_t units = 0;
        bool ended = false;  // fill gave fewer units than there was room for
    };

    Result<void> usable();
    Result<void> keep(Result<void> result);
    Result<void> ensure_frame();
    Result<void> ensure_room(std::uint64_t payload_bytes);
    void close_frame();
    Result<std::unique_ptr<CompressionPool>> make_pool(const DumpWriterOptions& options);
    Result<void> filter(format::RecordKind kind, std::span<std::byte> payload);
    Result<std::uint64_t> put(format::RecordKind kind, const google::protobuf::MessageLite& message,
                              std::size_t payload_bytes);
    Result<Piece> put_piece(const format::RegionHeader& header, std::uint64_t unit_bytes,
                            const Fill& fill);
    Result<Placement> put_stripes(format::RegionHeader header, std::uint64_t unit_bytes,
                                  const Fill& fill);
    Result<std::uint64_t> put_trailer(const records::Trailer& trailer);
    Result<void> write_end(std::uint64_t trailer_offset);

    std::unique_ptr<ByteSink> sink_;
    std::shared_ptr<RecordFilter> filter_;
    std::uint32_t frame_bytes_;
    std::uint64_t dump_id_;
    SeekTableBuilder table_;
    std::unique_ptr<CompressionPool> pool_;
    FrameBuilder builder_;
    std::uint64_t frames_ = 0;      // closed
    std::uint64_t flat_bytes_ = 0;  // of closed frames
    std::uint64_t own_bytes_ = 0;   // written to the sink outside the pool
    bool finished_ = false;
    std::optional<Error> error_;
};

}  // namespace beamdump
