#include <libdump/base/return_if_error.h>
#include <libdump/read/distinct_pages.h>
#include <libdump/read/dump_reader.h>
#include <libdump/read/file/file_header.h>
#include <libdump/read/flat_device.h>
#include <libdump/read/frames/frame_store.h>
#include <libdump/read/frames/seek_table.h>
#include <libdump/read/recovery.h>

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace beamdump {

using format::RecordKind;

class DumpReader::Impl {
  public:
    static Result<std::unique_ptr<Impl>> open(FileSource file, const DumpReaderOptions& options);

    Impl(const format::FileHeader& file_header, FrameStore frame_store)
        : header(file_header), store(std::move(frame_store)), device(store) {}
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() = default;

    static RecordView view(const std::shared_ptr<const Frame>& frame, std::uint64_t position);
    Result<void> read_trailer(std::uint64_t offset);
    Result<std::optional<RecordView>> first_in(std::size_t frame_position);
    Result<std::optional<RecordView>> fact_from(const std::shared_ptr<const Frame>& frame,
                                                std::uint64_t position);

    format::FileHeader header;
    FrameStore store;
    FlatDevice device;
    records::Trailer trailer;
    std::uint64_t skipped_index_entries = 0;
    std::optional<RecoveredIndex> recovered;
    std::optional<Damage> damage;
    mutable ReadStats stats;

  private:
    static Result<std::unique_ptr<Impl>> open_whole(FileSource file,
                                                    const format::FileHeader& header,
                                                    const DumpReaderOptions& options);
    static Result<std::unique_ptr<Impl>> open_damaged(FileSource file,
                                                      const format::FileHeader& header,
                                                      const DumpReaderOptions& options,
                                                      const Error& why);
};

Result<std::unique_ptr<DumpReader::Impl>> DumpReader::Impl::open_whole(
    FileSource file, const format::FileHeader& header, const DumpReaderOptions& options) {
    ASSIGN_OR_RETURN(auto end, read_dump_end(file, header));
    ASSIGN_OR_RETURN(auto loader, FrameLoader::create(header));
    auto impl = std::make_unique<Impl>(
        header, FrameStore(std::move(file), std::move(loader), std::move(end.frames),
                           options.cache_bytes, options.threads, options.stop));
    RETURN_IF_ERROR(impl->read_trailer(end.tail.trailer_offset));
    return impl;
}

Result<std::unique_ptr<DumpReader::Impl>> DumpReader::Impl::open_damaged(
    FileSource file, const format::FileHeader& header, const DumpReaderOptions& options,
    const Error& why) {
    ASSIGN_OR_RETURN(auto loader, FrameLoader::create(header));
    ASSIGN_OR_RETURN(auto dump, recover_dump(file, loader, header, why));
    auto impl = std::make_unique<Impl>(
        header, FrameStore(std::move(file), std::move(loader), std::move(dump.frames),
                           options.cache_bytes, options.threads, options.stop));
    impl->trailer = std::move(dump.trailer);
    impl->recovered = std::move(dump.index);
    impl->damage = std::move(dump.damage);
    return impl;
}

Result<std::unique_ptr<DumpReader::Impl>> DumpReader::Impl::open(FileSource file,
                                                                 const DumpReaderOptions& options) {
    ASSIGN_OR_RETURN(const auto header, read_file_header(file));
    ASSIGN_OR_RETURN(auto again, file.duplicate());
    auto whole = open_whole(std::move(file), header, options);
    if (whole) {
        return whole;
    }
    return open_damaged(std::move(again), header, options, whole.error());
}

RecordView DumpReader::Impl::view(const std::shared_ptr<const Frame>& frame,
                                  std::uint64_t position) {
    return {.kind = static_cast<RecordKind>(frame->header_at(position).kind),
            .offset = frame->where().flat_offset + position,
            .payload = frame->payload_at(position),
            .frame = frame};
}

Result<void> DumpReader::Impl::read_trailer(std::uint64_t offset) {
    ASSIGN_OR_RETURN(const auto frame, store.at(offset));
    const std::uint64_t position = offset - frame->where().flat_offset;
    if (!frame->record_starts(position)) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("the tail of {} says that the trailer is at flat offset {}, where "
                                "no record starts",
                                store.file().name(), offset));
    }
    RETURN_IF_ERROR(parse_into(view(frame, position), RecordKind::kTrailer, trailer));
    skipped_index_entries = keep_distinct_pages(trailer);
    return {};
}

/// The first record from `position` on that is neither FrameStart nor padding.
Result<std::optional<RecordView>> DumpReader::Impl::fact_from(
    const std::shared_ptr<const Frame>& frame, std::uint64_t position) {
    while (position < frame->bytes().size()) {
        const auto kind = static_cast<RecordKind>(frame->header_at(position).kind);
        if (kind != RecordKind::kFrameStart && kind != RecordKind::kPadding) {
            return view(frame, position);
        }
        position = frame->after(position);
    }
    return std::nullopt;
}

/// The first record of the frame at `frame_position` or of the frames after it.
Result<std::optional<RecordView>> DumpReader::Impl::first_in(std::size_t frame_position) {
    const auto& frames = store.index().frames();
    for (; frame_position < frames.size(); ++frame_position) {
        ASSIGN_OR_RETURN(const auto frame, store.by_position(frame_position));
        auto found = fact_from(frame, 0);
        if (!found || *found) {
            return found;
        }
    }
    return std::nullopt;
}

DumpReader::DumpReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DumpReader::DumpReader(DumpReader&&) noexcept = default;
DumpReader& DumpReader::operator=(DumpReader&&) noexcept = default;
DumpReader::~DumpReader() = default;

Result<DumpReader> DumpReader::open_file(Result<FileSource> file,
                                         const DumpReaderOptions& options) {
    if (!file) {
        return std::unexpected(file.error());
    }
    const auto name = file->name();
    try {
        ASSIGN_OR_RETURN(auto impl, Impl::open(std::move(*file), options));
        return DumpReader(std::move(impl));
    } catch (const std::exception& failure) {
        // bad_alloc and the like from containers and protobuf, for the sizes of the file's tables.
        return fail(ErrorCode::kLimit, fmt::format("cannot open {}: {}", name, failure.what()));
    }
}

Result<DumpReader> DumpReader::open(const std::filesystem::path& path,
                                    const DumpReaderOptions& options) {
    return open_file(FileSource::open(path), options);
}

Result<DumpReader> DumpReader::open(Descriptor file, std::string name,
                                    const DumpReaderOptions& options) {
    return open_file(FileSource::of(std::move(file), std::move(name)), options);
}

const format::FileHeader& DumpReader::header() const {
    return impl_->header;
}
std::uint64_t DumpReader::skipped_index_entries() const {
    return impl_->skipped_index_entries;
}

const records::Trailer& DumpReader::trailer() const {
    return impl_->trailer;
}
const std::optional<Damage>& DumpReader::damage() const {
    return impl_->damage;
}
const std::optional<UnreadableFrames>& DumpReader::unreadable() const {
    return impl_->store.unreadable();
}
const RecoveredIndex* DumpReader::recovered() const {
    const auto& recovered = impl_->recovered;
    return recovered ? &*recovered : nullptr;
}
std::uint64_t DumpReader::file_bytes() const {
    return impl_->store.file().size();
}
std::uint64_t DumpReader::flat_bytes() const {
    return impl_->store.index().flat_bytes();
}
std::uint64_t DumpReader::frames() const {
    return impl_->store.index().frames().size();
}

format::WrittenFrames DumpReader::written_frames() const {
    format::WrittenFrames written{.dump_id = impl_->header.dump_id,
                                  .frame_bytes = impl_->header.frame_bytes,
                                  .header_bytes = kFileHeaderBytes,
                                  .file_bytes = kFileHeaderBytes,
                                  .flat_bytes = flat_bytes(),
                                  .frames = {}};
    for (const auto& frame : impl_->store.index().frames()) {
        written.frames.push_back({frame.compressed_bytes, frame.content_bytes, frame.checksum});
        written.file_bytes += frame.compressed_bytes;
    }
    return written;
}

const ReadStats& DumpReader::stats() const {
    impl_->stats = impl_->store.stats();
    return impl_->stats;
}

Result<RecordView> DumpReader::record_at(std::uint64_t offset) {
    ASSIGN_OR_RETURN(const auto frame, impl_->store.at(offset));
    const std::uint64_t position = offset - frame->where().flat_offset;
    if (!frame->record_starts(position)) {
        return fail(ErrorCode::kCorrupt, fmt::format("no record of {} starts at flat offset {}",
                                                     impl_->store.file().name(), offset));
    }
    return Impl::view(frame, position);
}

Result<std::optional<RecordView>> DumpReader::next(const RecordView& record) {
    const auto frame = std::static_pointer_cast<const Frame>(record.frame);
    auto here = impl_->fact_from(frame, frame->after(record.offset - frame->where().flat_offset));
    if (!here || *here) {
        return here;
    }
    if (frame->where().flat_end() == flat_bytes()) {
        return std::nullopt;
    }
    // Looked up by offset, so that a gap is an error and not skipped.
    RETURN_IF_ERROR(impl_->store.at(frame->where().flat_end()));
    return impl_->first_in(*impl_->store.index().find(frame->where().flat_end()));
}

Result<std::optional<RecordView>> DumpReader::first() {
    RETURN_IF_ERROR(impl_->store.at(0));
    return impl_->first_in(0);
}

Result<std::optional<RecordView>> DumpReader::first_readable_after(std::uint64_t offset) {
    const auto& index = impl_->store.index();
    for (std::size_t i = index.first_after(offset); i < index.frames().size(); ++i) {
        const auto frame = impl_->store.by_position(i);
        if (!frame) {
            continue;
        }
        auto found = impl_->fact_from(*frame, 0);
        if (!found || *found) {
            return found;
        }
    }
    return std::nullopt;
}

Result<void> DumpReader::read(std::uint64_t offset, std::span<std::byte> into) {
    if (offset > flat_bytes() || into.size() > flat_bytes() - offset) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("{} bytes at flat offset {} reach behind the end of {} ({} bytes "
                                "of stream)",
                                into.size(), offset, impl_->store.file().name(), flat_bytes()));
    }
    return impl_->device.read_at(offset, into);
}

Result<void> DumpReader::parse_into(const RecordView& record, RecordKind kind,
                                    google::protobuf::MessageLite& message) {
    if (record.kind != kind) {
        return fail(
            ErrorCode::kCorrupt,
            fmt::format("the record at flat offset {} is of kind {}, and one of kind {} "
                        "was expected",
                        record.offset, std::to_underlying(record.kind), std::to_underlying(kind)));
    }
    if (!message.ParseFromArray(record.payload.data(), static_cast<int>(record.payload.size()))) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("the record of kind {} at flat offset {} ({} bytes) cannot be "
                                "parsed",
                                std::to_underlying(kind), record.offset, record.payload.size()));
    }
    return {};
}

}  // namespace beamdump
