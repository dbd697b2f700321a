#pragma once

#include <libdump/base/byte_sink.h>
#include <libdump/base/error.h>
#include <libdump/format/format.h>
#include <libdump/format/written_frames.h>
#include <libdump/write/record_filter.h>

#include <records.pb.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace beamdump {

struct DumpWriterOptions {
    int level = 1;         ///< of zstd
    unsigned threads = 2;  ///< compression threads, at least 1
    std::uint32_t frame_bytes = format::kDefaultFrameBytes;
    unsigned buffers = 0;  ///< frames in flight; 0: threads * 2 + 2
    /// Changes records before they are compressed; may be null.
    std::shared_ptr<RecordFilter> filter = nullptr;
};

struct DumpWriterStats {
    std::uint64_t frames = 0;
    std::uint64_t flat_bytes = 0;  ///< decompressed
    std::uint64_t file_bytes = 0;  ///< written to the sink so far
};

/// Writes records into frames, compresses them on a fixed set of threads and hands them to the sink
/// in order. Memory: `buffers` frames and their compressed forms, and 12 bytes a frame of seek
/// table. All calls from one thread. After an error of the sink or of a compression thread every
/// further call returns that error; a refused record or region (kLimit, kUsage, an error of Fill)
/// leaves the writer unchanged. Destroyed without finish(), it writes what it has and joins its
/// threads: the output is a truncated dump.
class DumpWriter {
  public:
    static Result<DumpWriter> create(std::unique_ptr<ByteSink> sink,
                                     const DumpWriterOptions& options);
    /// Continues a dump: `sink` has its header and frames already, and its end follows with
    /// finish(). options.frame_bytes is not used. Records keep their flat offsets.
    static Result<DumpWriter> resume(std::unique_ptr<ByteSink> sink,
                                     const format::WrittenFrames& written,
                                     const DumpWriterOptions& options);
    DumpWriter(DumpWriter&&) noexcept;
    DumpWriter& operator=(DumpWriter&&) noexcept;
    ~DumpWriter();

    /// Appends a fact record; returns its flat offset. kLimit if it is larger than a frame holds
    /// (max_record_bytes()): callers page their records.
    Result<std::uint64_t> append(format::RecordKind kind,
                                 const google::protobuf::MessageLite& message);

    /// Maximum payload bytes of a fact record.
    [[nodiscard]] std::size_t max_record_bytes() const;

    /// Fills `bytes` with the region's units from index `first` on; returns how many units. Fewer
    /// than asked for end the region: the rest is absent.
    using Fill =
        std::function<Result<std::uint64_t>(std::uint64_t first, std::span<std::byte> bytes)>;

    /// The place of a region.
    struct Placement {
        std::uint64_t offset = 0;  ///< flat offset of the first Region record
        std::uint64_t here = 0;    ///< units written
        bool striped = false;
    };

    /// Appends a region of header.total units, read straight into the frame buffers by `fill`.
    /// A region that does not fit the current frame is put into a new one; one larger than a frame
    /// is striped. header.first and header.count are set here. An error of `fill` is passed on and
    /// leaves the stream well-formed (what was filled before it stays).
    Result<Placement> append_region(format::RegionHeader header, const Fill& fill);

    /// Appends a whole frame of another dump with the same frame_bytes: its decompressed content,
    /// from its FrameStart on, which is written anew. The records keep their flat offsets if all
    /// frames are appended in their order. kCorrupt if records do not fill the content.
    Result<void> append_frame(std::span<const std::byte> content);

    /// Hands what was appended to the sink, in a frame that is shorter than others, and waits until
    /// the sink has it.
    Result<void> flush();

    /// Closes the stream: appends the trailer, then tail and seek table, and commits the sink.
    Result<DumpWriterStats> finish(const records::Trailer& trailer);

    [[nodiscard]] DumpWriterStats stats() const;

    /// How long a call has been waiting for the sink because all buffers are full; 0: none is
    /// waiting. From any thread.
    [[nodiscard]] std::chrono::nanoseconds waiting() const;

  private:
    class Impl;
    explicit DumpWriter(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace beamdump
