#include <libdump/base/bytes.h>
#include <libdump/base/return_if_error.h>
#include <libdump/write/compression_pool.h>
#include <libdump/write/dump_writer.h>
#include <libdump/write/frame_builder.h>
#include <libdump/write/seek_table_builder.h>

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <random>

namespace beamdump {

using format::RecordKind;

namespace {

constexpr unsigned kMaxThreads = 256;

/// Regions cannot be larger in a 64-bit address space; a larger size is garbage.
constexpr std::uint64_t kMaxRegionBytes = 1ULL << 56U;

/// A number that no other dump has: random.
std::uint64_t random_dump_id() {
    std::random_device device;
    return static_cast<std::uint64_t>(device()) << 32U | device();
}

/// Wall clock, microseconds since the Unix epoch.
std::int64_t now_us() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

/// kUsage for a size of frames or a number of threads that no dump can be written with.
Result<void> check_options(const DumpWriterOptions& options) {
    if (options.frame_bytes < format::kMinFrameBytes ||
        options.frame_bytes > format::kMaxFrameBytes || options.frame_bytes % 8 != 0) {
        return fail(
            ErrorCode::kUsage,
            fmt::format("frames cannot have {} bytes: give a multiple of 8 from {} to {}",
                        options.frame_bytes, format::kMinFrameBytes, format::kMaxFrameBytes));
    }
    if (options.threads < 1 || options.threads > kMaxThreads) {
        return fail(ErrorCode::kUsage, fmt::format("cannot compress with {} threads: give 1 to {}",
                                                   options.threads, kMaxThreads));
    }
    return {};
}

/// Writes a skippable frame's header and a structure that ends in a checksum of all before it;
/// returns their bytes.
template <typename T>
Result<std::uint32_t> write_skippable(ByteSink& sink, std::uint32_t magic, T content) {
    content.checksum = XXH64(&content, offsetof(T, checksum), 0);
    struct Frame {
        std::uint32_t magic;
        std::uint32_t bytes;
        T content;
    };
    static_assert(sizeof(Frame) == 8 + sizeof(T));
    const Frame frame{magic, sizeof(T), content};
    RETURN_IF_ERROR(sink.write(bytes_of(frame)));
    return static_cast<std::uint32_t>(sizeof(frame));
}

}  // namespace

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
    Result<void> flush();
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

DumpWriter::Impl::~Impl() {
    if (pool_ != nullptr && builder_.active() && !builder_.empty()) {
        close_frame();
    }
}

Result<std::unique_ptr<CompressionPool>> DumpWriter::Impl::make_pool(
    const DumpWriterOptions& options) {
    return CompressionPool::create(
        {.level = options.level,
         .threads = options.threads,
         .buffers = options.buffers == 0 ? options.threads * 2 + 2 : std::max(options.buffers, 2U),
         .frame_bytes = frame_bytes_,
         .dump_id = dump_id_},
        *sink_, table_);
}

Result<void> DumpWriter::Impl::start(const DumpWriterOptions& options) {
    const format::FileHeader header{
        .frame_bytes = frame_bytes_, .dump_id = dump_id_, .created_us = now_us()};
    ASSIGN_OR_RETURN(auto pool, make_pool(options));
    ASSIGN_OR_RETURN(const auto written,
                     write_skippable(*sink_, format::kHeaderSkippableMagic, header));
    own_bytes_ = written;
    RETURN_IF_ERROR(table_.add(written, 0, 0));
    pool_ = std::move(pool);
    return {};
}

Result<void> DumpWriter::Impl::start_after(const format::WrittenFrames& written,
                                           const DumpWriterOptions& options) {
    frame_bytes_ = written.frame_bytes;
    dump_id_ = written.dump_id;
    RETURN_IF_ERROR(table_.add(written.header_bytes, 0, 0));
    for (const auto& frame : written.frames) {
        RETURN_IF_ERROR(table_.add(frame.compressed_bytes, frame.content_bytes, frame.checksum));
    }
    frames_ = written.frames.size();
    flat_bytes_ = written.flat_bytes;
    own_bytes_ = written.file_bytes;
    ASSIGN_OR_RETURN(pool_, make_pool(options));
    return {};
}

Result<void> DumpWriter::Impl::usable() {
    if (error_) {
        return std::unexpected(*error_);
    }
    if (finished_) {
        return fail(ErrorCode::kUsage, "the dump is finished: nothing can be appended to it");
    }
    return {};
}

Result<void> DumpWriter::Impl::keep(Result<void> result) {
    if (!result) {
        error_ = result.error();
    }
    return result;
}

Result<void> DumpWriter::Impl::ensure_frame() {
    if (builder_.active()) {
        return {};
    }
    ASSIGN_OR_RETURN(auto buffer, pool_->acquire());
    builder_.begin(*buffer, frames_, flat_bytes_);
    return {};
}

/// Makes sure that the open frame has room for the record, which must fit an empty one.
Result<void> DumpWriter::Impl::ensure_room(std::uint64_t payload_bytes) {
    if (builder_.active() && !builder_.fits(payload_bytes)) {
        close_frame();
    }
    return keep(ensure_frame());
}

void DumpWriter::Impl::close_frame() {
    FrameBuffer* frame = builder_.release();
    ++frames_;
    flat_bytes_ += frame->used;
    pool_->submit(*frame);
}

/// After an error nothing can be appended: what the filter did not see must not be written.
Result<void> DumpWriter::Impl::filter(RecordKind kind, std::span<std::byte> payload) {
    return filter_ == nullptr ? Result<void>() : keep(filter_->record(kind, payload));
}

Result<std::uint64_t> DumpWriter::Impl::put(RecordKind kind,
                                            const google::protobuf::MessageLite& message,
                                            std::size_t payload_bytes) {
    const std::uint64_t offset = builder_.next_offset();
    const auto payload = builder_.open(payload_bytes);
    message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(payload.data()));
    RETURN_IF_ERROR(filter(kind, payload));
    builder_.close(kind, payload_bytes);
    return offset;
}

Result<std::uint64_t> DumpWriter::Impl::append(RecordKind kind,
                                               const google::protobuf::MessageLite& message) {
    RETURN_IF_ERROR(usable());
    const std::size_t payload_bytes = message.ByteSizeLong();
    if (payload_bytes > max_record_bytes()) {
        return fail(ErrorCode::kLimit,
                    fmt::format("a record of kind {} has {} bytes, and a frame holds {}",
                                static_cast<unsigned>(kind), payload_bytes, max_record_bytes()));
    }
    RETURN_IF_ERROR(ensure_room(payload_bytes));
    return put(kind, message, payload_bytes);
}

/// Writes as many units as the open frame has room for, from header.first on.
Result<DumpWriter::Impl::Piece> DumpWriter::Impl::put_piece(const format::RegionHeader& header,
                                                            std::uint64_t unit_bytes,
                                                            const Fill& fill) {
    const std::uint64_t wanted =
        std::min(header.total - header.first, format::stripe_data_bytes(frame_bytes_) / unit_bytes);
    const auto payload = builder_.open(sizeof(header) + wanted * unit_bytes);
    std::uint64_t units = 0;
    if (wanted != 0) {
        ASSIGN_OR_RETURN(auto filled, fill(header.first, payload.subspan(sizeof(header))));
        units = filled;
    }
    if (units > wanted) {
        return fail(ErrorCode::kUsage,
                    fmt::format("{} units were filled in, expected {}", units, wanted));
    }
    const Piece piece{.offset = builder_.next_offset(), .units = units, .ended = units < wanted};
    if (units != 0 || header.first == 0) {
        format::RegionHeader written = header;
        written.count = units;
        store(payload, 0, written);
        RETURN_IF_ERROR(
            filter(RecordKind::kRegion, payload.first(sizeof(header) + units * unit_bytes)));
        builder_.close(RecordKind::kRegion, sizeof(header) + units * unit_bytes);
    }
    return piece;
}

Result<DumpWriter::Placement> DumpWriter::Impl::put_stripes(format::RegionHeader header,
                                                            std::uint64_t unit_bytes,
                                                            const Fill& fill) {
    Placement placement;
    while (header.first < header.total) {
        if (builder_.active() && !builder_.empty()) {
            close_frame();
        }
        RETURN_IF_ERROR(keep(ensure_frame()));
        ASSIGN_OR_RETURN(const auto piece, put_piece(header, unit_bytes, fill));
        if (header.first == 0) {
            placement.offset = piece.offset;
        }
        placement.striped = header.first != 0 && piece.units != 0 ? true : placement.striped;
        placement.here += piece.units;
        header.first += piece.units;
        if (piece.ended) {
            break;
        }
    }
    return placement;
}

Result<DumpWriter::Placement> DumpWriter::Impl::append_region(format::RegionHeader header,
                                                              const Fill& fill) {
    RETURN_IF_ERROR(usable());
    const std::uint64_t unit_bytes =
        header.unit == format::RegionUnit::kBytes ? 1 : header.word_bytes;
    if (unit_bytes != 1 && unit_bytes != 4 && unit_bytes != 8) {
        return fail(ErrorCode::kUsage,
                    fmt::format("a region's words cannot have {} bytes", unit_bytes));
    }
    if (header.total > kMaxRegionBytes / unit_bytes) {
        return fail(ErrorCode::kLimit,
                    fmt::format("the region at {:#x} would have {} units of {} bytes",
                                header.address, header.total, unit_bytes));
    }
    header.first = 0;
    const std::uint64_t payload_bytes = sizeof(header) + header.total * unit_bytes;
    if (payload_bytes > max_record_bytes()) {
        return put_stripes(header, unit_bytes, fill);
    }
    RETURN_IF_ERROR(ensure_room(payload_bytes));
    ASSIGN_OR_RETURN(const auto piece, put_piece(header, unit_bytes, fill));
    return Placement{.offset = piece.offset, .here = piece.units, .striped = false};
}

Result<void> DumpWriter::Impl::append_frame(std::span<const std::byte> content) {
    RETURN_IF_ERROR(usable());
    if (content.size() < format::kFrameStartBytes || content.size() > frame_bytes_) {
        return fail(ErrorCode::kCorrupt, fmt::format("a frame of {} bytes in a dump with frames of "
                                                     "{} at most",
                                                     content.size(), frame_bytes_));
    }
    if (builder_.active() && !builder_.empty()) {
        close_frame();
    }
    RETURN_IF_ERROR(keep(ensure_frame()));
    for (auto rest = content.subspan(format::kFrameStartBytes); !rest.empty();) {
        const auto header = load<format::RecordHeader>(rest);
        const auto bytes = header ? format::record_bytes(header->payload_bytes) : 0;
        if (!header || bytes > rest.size()) {
            return fail(ErrorCode::kCorrupt, "a record of a frame reaches beyond the frame's end");
        }
        const auto payload = builder_.open(header->payload_bytes);
        std::ranges::copy(rest.subspan(sizeof(*header), payload.size()), payload.begin());
        const auto kind = static_cast<RecordKind>(header->kind);
        RETURN_IF_ERROR(filter(kind, payload));
        builder_.close(kind, payload.size());
        rest = rest.subspan(bytes);
    }
    close_frame();
    return {};
}

/// The only record that may be larger than a frame: it gets its own frame, as large as needed.
Result<std::uint64_t> DumpWriter::Impl::put_trailer(const records::Trailer& trailer) {
    const std::size_t payload_bytes = trailer.ByteSizeLong();
    const std::uint64_t frame_bytes =
        format::kFrameStartBytes + format::record_bytes(payload_bytes);
    if (frame_bytes > format::kMaxFrameBytes) {
        return fail(ErrorCode::kLimit,
                    fmt::format("the trailer has {} bytes, and a frame holds {} at most",
                                payload_bytes, format::kMaxFrameBytes));
    }
    if (builder_.active() && !builder_.fits(payload_bytes)) {
        close_frame();
    }
    ASSIGN_OR_RETURN(auto buffer, builder_.active() ? nullptr : pool_->acquire());
    if (buffer != nullptr) {
        if (frame_bytes > frame_bytes_) {
            buffer->content.resize(frame_bytes);
            buffer->compressed.resize(compressed_bound(frame_bytes));
        }
        builder_.begin(*buffer, frames_, flat_bytes_);
    }
    auto offset = put(RecordKind::kTrailer, trailer, payload_bytes);
    if (offset) {
        close_frame();
    }
    return offset;
}

Result<void> DumpWriter::Impl::write_end(std::uint64_t trailer_offset) {
    constexpr std::uint32_t kTailBytes = 8 + sizeof(format::Tail);
    RETURN_IF_ERROR(table_.add(kTailBytes, 0, 0));
    const format::Tail tail{.dump_id = dump_id_,
                            .trailer_offset = trailer_offset,
                            .flat_bytes = flat_bytes_,
                            .frames = frames_,
                            .seek_table_checksum = table_.checksum()};
    RETURN_IF_ERROR(write_skippable(*sink_, format::kTailSkippableMagic, tail));
    RETURN_IF_ERROR(table_.write(*sink_));
    own_bytes_ += kTailBytes + table_.frame_bytes();
    return sink_->commit();
}

Result<void> DumpWriter::Impl::flush() {
    RETURN_IF_ERROR(usable());
    if (builder_.active() && !builder_.empty()) {
        close_frame();
    }
    return keep(pool_->drain());
}

Result<DumpWriterStats> DumpWriter::Impl::finish(const records::Trailer& trailer) {
    RETURN_IF_ERROR(usable());
    const auto offset = put_trailer(trailer);
    if (!offset) {
        error_ = offset.error();
        return std::unexpected(*error_);
    }
    RETURN_IF_ERROR(keep(pool_->drain()));
    RETURN_IF_ERROR(keep(write_end(*offset)));
    finished_ = true;
    return stats();
}

DumpWriterStats DumpWriter::Impl::stats() const {
    return {.frames = frames_,
            .flat_bytes = builder_.active() ? builder_.next_offset() : flat_bytes_,
            .file_bytes = own_bytes_ + pool_->written_bytes()};
}

Result<DumpWriter> DumpWriter::create(std::unique_ptr<ByteSink> sink,
                                      const DumpWriterOptions& options) {
    RETURN_IF_ERROR(check_options(options));
    auto impl = std::make_unique<Impl>(std::move(sink), options);
    RETURN_IF_ERROR(impl->start(options));
    return DumpWriter(std::move(impl));
}

Result<DumpWriter> DumpWriter::resume(std::unique_ptr<ByteSink> sink,
                                      const format::WrittenFrames& written,
                                      const DumpWriterOptions& options) {
    auto own = options;
    own.frame_bytes = written.frame_bytes;
    RETURN_IF_ERROR(check_options(own));
    auto impl = std::make_unique<Impl>(std::move(sink), own);
    RETURN_IF_ERROR(impl->start_after(written, own));
    return DumpWriter(std::move(impl));
}

DumpWriter::DumpWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DumpWriter::DumpWriter(DumpWriter&&) noexcept = default;
DumpWriter& DumpWriter::operator=(DumpWriter&&) noexcept = default;
DumpWriter::~DumpWriter() = default;

Result<std::uint64_t> DumpWriter::append(RecordKind kind,
                                         const google::protobuf::MessageLite& message) {
    return impl_->append(kind, message);
}

std::size_t DumpWriter::max_record_bytes() const {
    return impl_->max_record_bytes();
}

Result<DumpWriter::Placement> DumpWriter::append_region(format::RegionHeader header,
                                                        const Fill& fill) {
    return impl_->append_region(header, fill);
}

Result<void> DumpWriter::append_frame(std::span<const std::byte> content) {
    return impl_->append_frame(content);
}

Result<void> DumpWriter::flush() {
    return impl_->flush();
}

Result<DumpWriterStats> DumpWriter::finish(const records::Trailer& trailer) {
    return impl_->finish(trailer);
}

DumpWriterStats DumpWriter::stats() const {
    return impl_->stats();
}

std::chrono::nanoseconds DumpWriter::waiting() const {
    return impl_->waiting();
}

}  // namespace beamdump
