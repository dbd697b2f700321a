#include <libdump/base/bytes.h>
#include <libdump/base/return_if_error.h>
#include <libdump/read/file/file_header.h>
#include <libdump/read/frames/frame_scan.h>
#include <libdump/read/frames/seek_table.h>

#include <algorithm>
#include <array>

namespace beamdump {

namespace {

/// Limits of a search behind damage: this much for candidates that are not frames, and twice the
/// file. Real dumps stay far below.
constexpr std::uint64_t kSearchBudgetBytes = 64U << 20U;
/// What looking at a candidate costs besides its bytes, in the time that bytes take: two reads.
constexpr std::uint64_t kCandidateBytes = 1024;

constexpr std::uint64_t kSearchWindowBytes = 256U << 10U;
constexpr std::uint64_t kMagicBytes = 4;
/// A zstd frame header has 18 bytes at most (RFC 8878, 3.1.1.1).
constexpr std::uint64_t kZstdHeaderBytes = 18;

using FramePointer = std::shared_ptr<const Frame>;

class FrameScanner {
  public:
    FrameScanner(FileSource& file, FrameLoader& loader, const format::FileHeader& header,
                 const std::function<void(const FramePointer&)>& found)
        : file_(file), loader_(loader), header_(header), found_(found) {}

    Result<ScannedFrames> run();

  private:
    /// What was found at a place in the file.
    struct Candidate {
        FramePointer frame;
        std::optional<format::Tail> tail;
        [[nodiscard]] bool any() const { return frame != nullptr || tail.has_value(); }
    };

    Result<Candidate> candidate_at(std::uint64_t position);
    Result<FramePointer> frame_at(std::uint64_t position);
    [[nodiscard]] bool follows(const FrameRef& frame) const;
    /// First place from `position` on where a candidate starts; the file's end if there is none.
    Result<std::uint64_t> search(std::uint64_t position, Candidate& candidate);
    Result<std::span<const std::byte>> window(std::uint64_t position, std::uint64_t bytes,
                                              std::vector<std::byte>& buffer);

    FileSource& file_;
    FrameLoader& loader_;
    const format::FileHeader& header_;
    const std::function<void(const FramePointer&)>& found_;
    ScannedFrames result_;
    std::vector<std::byte> frame_buffer_;
    std::vector<std::byte> search_buffer_;
    std::uint64_t wasted_bytes_ = 0;
};

Result<std::span<const std::byte>> FrameScanner::window(std::uint64_t position, std::uint64_t bytes,
                                                        std::vector<std::byte>& buffer) {
    const std::uint64_t count = std::min(bytes, file_.size() - std::min(position, file_.size()));
    buffer.resize(std::max<std::size_t>(buffer.size(), count));
    const auto part = std::span(buffer).first(count);
    RETURN_IF_ERROR(file_.read(position, part));
    return part;
}

bool FrameScanner::follows(const FrameRef& frame) const {
    const auto& frames = result_.frames.frames();
    const std::uint64_t sequence = frames.empty() ? 0 : std::uint64_t{frames.back().sequence} + 1;
    const std::uint64_t flat_offset = result_.frames.flat_bytes();
    return frame.sequence == sequence
               ? frame.flat_offset == flat_offset
               : frame.sequence > sequence && frame.flat_offset > flat_offset;
}

/// Null if no complete and valid frame starts there; an error only if the file cannot be read.
Result<FramePointer> FrameScanner::frame_at(std::uint64_t position) {
    ASSIGN_OR_RETURN(const auto start, window(position, kZstdHeaderBytes, frame_buffer_));
    const auto content_bytes = FrameLoader::content_bytes(start);
    if (!content_bytes) {
        return nullptr;
    }
    ASSIGN_OR_RETURN(const auto bytes,
                     window(position, format::max_compressed_bytes(*content_bytes), frame_buffer_));
    auto frame = loader_.recover(bytes, position);
    if (!frame || !follows((*frame)->where())) {
        wasted_bytes_ += bytes.size();
        return nullptr;
    }
    return *frame;
}

Result<FrameScanner::Candidate> FrameScanner::candidate_at(std::uint64_t position) {
    Candidate candidate;
    ASSIGN_OR_RETURN(auto frame, frame_at(position));
    candidate.frame = std::move(frame);
    if (candidate.frame == nullptr) {
        candidate.tail = read_tail(file_, position, header_);
    }
    return candidate;
}

Result<std::uint64_t> FrameScanner::search(std::uint64_t position, Candidate& candidate) {
    const std::uint64_t budget = kSearchBudgetBytes + 2 * file_.size();
    while (position + kMagicBytes <= file_.size()) {
        ASSIGN_OR_RETURN(const auto part, window(position, kSearchWindowBytes, search_buffer_));
        for (std::size_t i = 0; i + kMagicBytes <= part.size(); ++i) {
            const auto magic = load_known<std::uint32_t>(part, i);
            if (magic != format::kZstdMagic && magic != format::kTailSkippableMagic) {
                continue;
            }
            const auto header = part.subspan(i);
            if (magic == format::kZstdMagic && header.size() >= kZstdHeaderBytes &&
                !FrameLoader::content_bytes(header.first(kZstdHeaderBytes))) {
                continue;
            }
            ASSIGN_OR_RETURN(auto here, candidate_at(position + i));
            if (here.any()) {
                candidate = std::move(here);
                return position + i;
            }
            wasted_bytes_ += kCandidateBytes;
            if (wasted_bytes_ > budget) {
                result_.gave_up = true;
                return file_.size();
            }
        }
        position += part.size() - (kMagicBytes - 1);
    }
    return file_.size();
}

Result<ScannedFrames> FrameScanner::run() {
    std::uint64_t position = kFileHeaderBytes;
    while (position < file_.size()) {
        ASSIGN_OR_RETURN(auto here, candidate_at(position));
        if (!here.any()) {
            ASSIGN_OR_RETURN(const auto next, search(position + 1, here));
            result_.lost.push_back({position, next});
            position = next;
        }
        if (here.tail) {
            result_.tail = here.tail;
            break;
        }
        if (here.frame != nullptr) {
            result_.frames.add(here.frame->where());
            found_(here.frame);
            position = here.frame->where().file_end();
        }
    }
    return std::move(result_);
}

}  // namespace

Result<ScannedFrames> scan_frames(FileSource& file, FrameLoader& loader,
                                  const format::FileHeader& header,
                                  const std::function<void(const FramePointer&)>& found) {
    return FrameScanner(file, loader, header, found).run();
}

}  // namespace beamdump
