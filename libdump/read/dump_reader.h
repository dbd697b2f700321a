#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>
#include <libdump/format/format.h>
#include <libdump/format/written_frames.h>
#include <libdump/read/frames/read_stats.h>
#include <libdump/read/recovered_index.h>

#include <records.pb.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

namespace beamdump {

class FileSource;

struct DumpReaderOptions {
    std::size_t cache_bytes = 16U << 20U;  ///< limit for decompressed frames
    /// That decompress frames ahead of sequential reads. With more than one: up to 8 MiB ahead.
    unsigned threads = 1;
    /// Reads after its request fail with kLimit.
    std::stop_token stop = {};
};

/// A record in a decompressed frame. Holds the frame, so the payload stays valid with it.
struct RecordView {
    format::RecordKind kind = format::RecordKind::kPadding;
    std::uint64_t offset = 0;  ///< flat offset of its header
    std::span<const std::byte> payload;
    std::shared_ptr<const void> frame;
};

/// The damage of a dump that could still be opened.
struct Damage {
    bool truncated = false;        ///< no tail: writer or file ended early
    std::uint64_t lost_bytes = 0;  ///< file bytes outside complete frames
    std::string what;              ///< one sentence
};

/// Random access to a dump's records through a bounded cache of decompressed frames. Opening reads
/// the header, the tail, the seek table and the trailer. Without a valid tail (cut file) the frames
/// are walked once and the trailer is rebuilt from the records: costs one pass over the file and
/// memory in proportion to the process count.
///
/// Sequential reads decompress frames ahead in threads of the reader: one more frame in memory with
/// one thread, 8 MiB and a frame of each thread with more. Errors are those of reading without
/// threads, at the same place.
///
/// Checked: every frame's zstd checksum, XXH64, sequence, offset and dump id before its bytes are
/// used; every length against its frame; the seek table against its checksum. Not checked: what
/// records say. Not thread-safe.
class DumpReader {
  public:
    static Result<DumpReader> open(const std::filesystem::path& path,
                                   const DumpReaderOptions& options = {});
    /// Of an open file, with a name for errors (FileSource::of()).
    static Result<DumpReader> open(Descriptor file, std::string name,
                                   const DumpReaderOptions& options = {});
    DumpReader(DumpReader&&) noexcept;
    DumpReader& operator=(DumpReader&&) noexcept;
    ~DumpReader();

    [[nodiscard]] const format::FileHeader& header() const;
    [[nodiscard]] const records::Trailer& trailer() const;
    [[nodiscard]] const std::optional<Damage>& damage() const;
    /// Entries of the trailer, in a forged dump, that name a page twice or none. They were skipped.
    [[nodiscard]] std::uint64_t skipped_index_entries() const;
    /// Frames that could not be read when they were needed, so far.
    [[nodiscard]] const std::optional<UnreadableFrames>& unreadable() const;
    /// For a dump without a trailer: trailer() is rebuilt, its index pages (processes, modules,
    /// binaries) are empty, and this replaces them. Otherwise null.
    [[nodiscard]] const RecoveredIndex* recovered() const;
    [[nodiscard]] std::uint64_t file_bytes() const;
    [[nodiscard]] std::uint64_t flat_bytes() const;
    [[nodiscard]] std::uint64_t frames() const;
    [[nodiscard]] const ReadStats& stats() const;
    /// For a complete dump: its frames, to append further ones to a copy.
    [[nodiscard]] format::WrittenFrames written_frames() const;

    /// The record whose header is at that flat offset; kCorrupt if none starts there.
    Result<RecordView> record_at(std::uint64_t offset);

    /// The record after `record`, into the next frame if need be (FrameStart and padding are
    /// skipped); nothing at the end of the stream.
    Result<std::optional<RecordView>> next(const RecordView& record);

    /// The first record of the stream after its FrameStart.
    Result<std::optional<RecordView>> first();

    /// The first record of the first readable frame that starts after `offset`, to continue behind
    /// a damaged frame; nullopt if there is none.
    Result<std::optional<RecordView>> first_readable_after(std::uint64_t offset);

    /// Copies flat bytes, which may span frames. Copies all or fails.
    Result<void> read(std::uint64_t offset, std::span<std::byte> into);

    /// Parses a fact record: the record at `offset` must be of that kind.
    template <typename Message>
    Result<Message> message_at(std::uint64_t offset, format::RecordKind kind) {
        auto record = record_at(offset);
        if (!record) {
            return std::unexpected(record.error());
        }
        return parse<Message>(*record, kind);
    }

    template <typename Message>
    static Result<Message> parse(const RecordView& record, format::RecordKind kind) {
        Message message;
        if (auto done = parse_into(record, kind, message); !done) {
            return std::unexpected(done.error());
        }
        return message;
    }

    static Result<void> parse_into(const RecordView& record, format::RecordKind kind,
                                   google::protobuf::MessageLite& message);

  private:
    class Impl;
    explicit DumpReader(std::unique_ptr<Impl> impl);
    static Result<DumpReader> open_file(Result<FileSource> file, const DumpReaderOptions& options);
    std::unique_ptr<Impl> impl_;
};

}  // namespace beamdump
