#include <libdump/base/bytes.h>
#include <libdump/base/return_if_error.h>
#include <libdump/read/dump_reader.h>
#include <libdump/redact/redactor.h>
#include <libdump/rewrite/moved_in_dump.h>
#include <libdump/rewrite/redact_dump.h>
#include <libdump/write/dump_writer.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace beamdump {
namespace {

using format::RecordHeader;
using format::RecordKind;

/// The decompressed frames of a dump, from its first to its last.
class Frames {
  public:
    explicit Frames(DumpReader& reader) : reader_(reader) {}

    /// The next frame's content, valid until the next call; nothing at the end of the stream.
    Result<std::optional<std::span<std::byte>>> next() {
        if (offset_ >= reader_.flat_bytes()) {
            return std::nullopt;
        }
        std::array<std::byte, format::kFrameStartBytes> head{};
        RETURN_IF_ERROR(reader_.read(offset_, head));
        const auto start = load_known<format::FrameStart>(head, sizeof(RecordHeader));
        if (start.flat_offset != offset_ || start.content_bytes < head.size() ||
            start.content_bytes > format::kMaxFrameBytes) {
            return fail(ErrorCode::kCorrupt,
                        fmt::format("no frame begins at {} of the dump's stream", offset_));
        }
        content_.resize(start.content_bytes);
        RETURN_IF_ERROR(reader_.read(offset_, content_));
        offset_ += content_.size();
        return std::span(content_);
    }
    [[nodiscard]] std::uint64_t offset() const { return offset_; }

  private:
    DumpReader& reader_;
    std::uint64_t offset_ = 0;
    std::vector<std::byte> content_;
};

struct Record {
    RecordKind kind = RecordKind::kPadding;
    std::size_t at = 0;  ///< of its header in the frame
    std::span<std::byte> payload;
};

/// Calls `visit` for each record of a frame until it returns false.
template <typename Visit>
Result<void> each_record(std::span<std::byte> content, const Visit& visit) {
    for (std::size_t at = 0; at < content.size();) {
        const auto header = load<RecordHeader>(content, at);
        const auto room = header ? content.size() - at - sizeof(RecordHeader) : 0;
        if (!header || header->payload_bytes > room) {
            return fail(ErrorCode::kCorrupt, "a record of a frame reaches beyond the frame's end");
        }
        const Record record{static_cast<RecordKind>(header->kind), at,
                            content.subspan(at + sizeof(RecordHeader), header->payload_bytes)};
        ASSIGN_OR_RETURN(const auto go_on, visit(record));
        if (!go_on) {
            return {};
        }
        at += format::record_bytes(header->payload_bytes);
    }
    return {};
}

/// What has to be known before the first atom and the first word.
class FirstPass {
  public:
    FirstPass(redact::Redactor& redactor, DumpReader& reader, const redact::Policy& policy)
        : redactor_(redactor), reader_(reader), has_term_lists_(policy.has_term_lists()) {}

    /// `offset`: of the record in the dump's stream.
    Result<bool> look_at(const Record& record, std::uint64_t offset) {
        switch (record.kind) {
            case RecordKind::kCapture:
                return capture(record);
            case RecordKind::kNode:
                return node(record);
            case RecordKind::kModule:
                return module(record);
            case RecordKind::kFunctions:
                return functions(record);
            case RecordKind::kCodePoints:
                return code_points(record);
            case RecordKind::kRegion:
                return region(record);
            case RecordKind::kPackedRegions:
                return packed_regions(record);
            case RecordKind::kMessages:
                return messages(record);
            case RecordKind::kBinaries:
                return binaries(record);
            case RecordKind::kCrashSections:
                return crash_sections(record);
            case RecordKind::kProcess:
                ++processes_;
                return is_crash_dump_ ? process(record) : true;
            case RecordKind::kProcessEnd:
                return process_end(record, offset);
            case RecordKind::kAtoms:
                return is_crash_dump_ ? atoms(record) : true;
            default:
                return true;
        }
    }

    /// In the order of their Process records.
    std::vector<CollectedRun> take_collected() { return std::move(collected_); }
    [[nodiscard]] format::TermScheme scheme() const { return scheme_; }

  private:
    template <typename Message>
    static Result<Message> parsed(const Record& record) {
        Message message;
        const auto bytes = record.payload;
        if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
            return fail(ErrorCode::kCorrupt,
                        fmt::format("a record of kind {} of the dump is malformed",
                                    static_cast<unsigned>(record.kind)));
        }
        return message;
    }
    void words_at(std::uint64_t address, std::uint64_t words) {
        constexpr std::uint64_t kMaxWords = std::uint64_t{1} << 44U;
        redactor_.memory_at(address, address + std::min(words, kMaxWords) * 8 + 1);
    }
    void packed(const records::PackedRegion& region) {
        words_at(region.address(), region.total_words());
    }

    Result<bool> capture(const Record& record) {
        ASSIGN_OR_RETURN(const auto capture, parsed<records::Capture>(record));
        is_crash_dump_ = capture.mode() == records::CAPTURE_MODE_CRASH_DUMP;
        if (is_crash_dump_ && has_term_lists_) {
            return fail(ErrorCode::kUnsupported,
                        "it was made from a crash dump, to which a policy's lists of modules, "
                        "records, structs and keys cannot be applied");
        }
        return true;
    }
    Result<bool> node(const Record& record) {
        ASSIGN_OR_RETURN(const auto node, parsed<records::Node>(record));
        scheme_ = static_cast<format::TermScheme>(node.term_scheme());
        redactor_.node_scheme(scheme_);
        words_at(node.literals_address(), node.literals_bytes() / 8);
        words_at(node.this_node_address(), 1);
        return true;
    }
    Result<bool> module(const Record& record) {
        ASSIGN_OR_RETURN(const auto module, parsed<records::Module>(record));
        redactor_.code_atom(module.name_atom());
        redactor_.memory_at(module.code_start(), module.code_end());
        return true;
    }
    Result<bool> functions(const Record& record) {
        ASSIGN_OR_RETURN(const auto page, parsed<records::Functions>(record));
        for (const auto atom : page.name_atom()) {
            redactor_.code_atom(atom);
        }
        return true;
    }
    Result<bool> code_points(const Record& record) {
        ASSIGN_OR_RETURN(const auto page, parsed<records::CodePoints>(record));
        for (const auto& point : page.point()) {
            words_at(point.address(), 1);
        }
        return true;
    }
    Result<bool> region(const Record& record) {
        if (const auto header = load<format::RegionHeader>(record.payload)) {
            words_at(header->address, header->total);
        }
        return true;
    }
    Result<bool> packed_regions(const Record& record) {
        ASSIGN_OR_RETURN(const auto page, parsed<records::PackedRegions>(record));
        for (const auto& region : page.region()) {
            packed(region);
        }
        return true;
    }
    Result<bool> messages(const Record& record) {
        ASSIGN_OR_RETURN(const auto page, parsed<records::Messages>(record));
        for (const auto& entry : page.entry()) {
            for (const auto& fragment : entry.fragment()) {
                packed(fragment);
            }
        }
        return true;
    }
    Result<bool> binaries(const Record& record) {
        ASSIGN_OR_RETURN(const auto page, parsed<records::Binaries>(record));
        for (const auto& binary : page.binary()) {
            words_at(binary.address(), 1);
            words_at(binary.data_address(), binary.size_bytes() / 8);
        }
        return true;
    }

    // A crash dump names modules by sections, and has the functions of stacks only.
    Result<bool> crash_sections(const Record& record) {
        ASSIGN_OR_RETURN(const auto page, parsed<records::CrashSections>(record));
        for (const auto& section : page.section()) {
            if (section.tag() == "mod") {
                std::string_view name = section.argument();
                if (name.size() >= 2 && name.front() == '\'' && name.back() == '\'') {
                    name = name.substr(1, name.size() - 2);
                }
                redactor_.code_text(name);
            }
        }
        return true;
    }
    Result<bool> process(const Record& record) {
        ASSIGN_OR_RETURN(const auto process, parsed<records::Process>(record));
        if (process.has_current_function()) {
            redactor_.code_atom(process.current_function().module_atom());
            redactor_.code_atom(process.current_function().function_atom());
        }
        // A process may be spawned with the name of any function: known is only the module.
        if (process.has_initial_call()) {
            const auto& call = process.initial_call();
            initial_calls_[call.module_atom()].insert(call.function_atom());
        }
        return true;
    }
    Result<bool> process_end(const Record& record, std::uint64_t offset) {
        ASSIGN_OR_RETURN(auto end, parsed<records::ProcessEnd>(record));
        if (end.has_collection()) {
            ASSIGN_OR_RETURN(auto directory, read_directory(reader_, end.directory(), offset));
            collected_.push_back(
                {processes_, std::move(*end.mutable_collection()), std::move(directory)});
        }
        return true;
    }
    /// The texts are behind the processes and the sections.
    Result<bool> atoms(const Record& record) {
        ASSIGN_OR_RETURN(const auto page, parsed<records::Atoms>(record));
        for (int at = 0; at < page.text_size(); ++at) {
            const auto found =
                initial_calls_.find(page.first_index() + static_cast<std::uint32_t>(at));
            if (found == initial_calls_.end() || !redactor_.has_code_text(page.text(at))) {
                continue;
            }
            for (const auto function : found->second) {
                redactor_.code_atom(function);
            }
        }
        return true;
    }

    redact::Redactor& redactor_;
    DumpReader& reader_;
    bool has_term_lists_;
    bool is_crash_dump_ = false;
    format::TermScheme scheme_ = format::TermScheme::kUnknown;
    std::uint64_t processes_ = 0;
    std::vector<CollectedRun> collected_;
    std::map<std::uint32_t, std::set<std::uint32_t>> initial_calls_;  // functions by module
};

/// Where the room of a record is used for others.
class Room {
  public:
    explicit Room(std::span<std::byte> place) : rest_(place) {
        std::ranges::fill(place, std::byte{0});
    }
    [[nodiscard]] static std::size_t bytes_of(const google::protobuf::MessageLite& message) {
        return format::record_bytes(message.ByteSizeLong());
    }
    Result<void> put(RecordKind kind, const google::protobuf::MessageLite& message) {
        const auto bytes = bytes_of(message);
        const auto payload = message.ByteSizeLong();
        head(kind, payload);
        if (!message.SerializeToArray(rest_.data() + sizeof(RecordHeader),
                                      static_cast<int>(payload))) {
            return fail(ErrorCode::kCorrupt, "a record of the dump cannot be written again");
        }
        rest_ = rest_.subspan(bytes);
        return {};
    }
    void pad() {
        if (!rest_.empty()) {
            head(RecordKind::kPadding, rest_.size() - sizeof(RecordHeader));
        }
    }

  private:
    void head(RecordKind kind, std::size_t payload) {
        store(rest_, 0,
              RecordHeader{.kind = static_cast<std::uint16_t>(kind),
                           .payload_bytes = static_cast<std::uint32_t>(payload)});
    }
    std::span<std::byte> rest_;  // a multiple of 8 bytes
};

/// Puts what the dump says of the redaction behind the Capture record, in that one's room: the path
/// of the executable, the host's name and the slogan of a crash dump, which are hidden, make place
/// for it; if they are too short, what else is of least use does.
Result<void> say_so(std::span<std::byte> content, const Record& record,
                    records::RedactionPolicy said) {
    records::Capture capture;
    if (!capture.ParseFromArray(record.payload.data(), static_cast<int>(record.payload.size()))) {
        return fail(ErrorCode::kCorrupt, "the dump's Capture record is malformed");
    }
    const auto room = format::record_bytes(record.payload.size());
    capture.clear_executable();
    capture.clear_host_name();
    capture.clear_reason();
    capture.clear_slogan();
    const std::array<std::function<void()>, 5> give_up = {
        [&] { capture.clear_layout_json(); }, [&] { capture.clear_taints(); },
        [&] { capture.clear_calling_thread(); }, [&] { said.clear_tool_version(); },
        [&] { capture.clear_crash_date(); }};
    const auto fits = [&] { return Room::bytes_of(capture) + Room::bytes_of(said) <= room; };
    for (auto next = give_up.begin(); !fits() && next != give_up.end(); ++next) {
        (*next)();
    }
    if (!fits()) {
        return fail(ErrorCode::kUnsupported,
                    "the dump's Capture record has no room to say that values are hidden");
    }
    Room place(content.subspan(record.at, room));
    RETURN_IF_ERROR(place.put(RecordKind::kCapture, capture));
    RETURN_IF_ERROR(place.put(RecordKind::kRedactionPolicy, said));
    place.pad();
    return {};
}

/// Tells the redactor which objects were moved of each process that was captured in the middle of
/// a collection.
class RunFilter final : public RecordFilter {
  public:
    RunFilter(std::shared_ptr<redact::Redactor> redactor, DumpReader& reader,
              format::TermScheme scheme, std::vector<CollectedRun> collected)
        : redactor_(std::move(redactor)),
          reader_(reader),
          scheme_(scheme),
          collected_(std::move(collected)) {}

    Result<void> record(RecordKind kind, std::span<std::byte> payload) override {
        if (kind == RecordKind::kProcess) {
            RETURN_IF_ERROR(begin_process());
        }
        return redactor_->record(kind, payload);
    }

  private:
    Result<void> begin_process() {
        ++processes_;
        redactor_->moved(nullptr);
        moved_.reset();
        if (next_ < collected_.size() && collected_[next_].number == processes_) {
            ASSIGN_OR_RETURN(const auto scheme, scheme_of(scheme_));
            moved_.emplace(scheme, reader_, collected_[next_]);
            redactor_->moved(&*moved_);
            ++next_;
        }
        return {};
    }

    std::shared_ptr<redact::Redactor> redactor_;
    DumpReader& reader_;
    format::TermScheme scheme_;
    std::vector<CollectedRun> collected_;
    std::size_t next_ = 0;
    std::uint64_t processes_ = 0;
    std::optional<MovedInDump> moved_;
};

class SecondPass {
  public:
    SecondPass(DumpWriter& writer, records::RedactionPolicy said)
        : writer_(writer), said_(std::move(said)) {}

    /// Appends a frame, up to the trailer, if it is in it.
    Result<void> frame(std::span<std::byte> content) {
        auto end = content.size();
        auto capture = std::optional<Record>();
        RETURN_IF_ERROR(each_record(content, [&](const Record& record) -> Result<bool> {
            if (record.kind == RecordKind::kTrailer) {
                end = record.at;
                return false;
            }
            if (record.kind == RecordKind::kCapture) {
                capture = record;
            }
            return true;
        }));
        if (capture) {
            RETURN_IF_ERROR(say_so(content, *capture, said_));
        }
        return end == format::kFrameStartBytes ? Result<void>()
                                               : writer_.append_frame(content.first(end));
    }

  private:
    DumpWriter& writer_;
    records::RedactionPolicy said_;
};

}  // namespace

Result<RedactedDump> redact_dump(DumpReader reader, std::unique_ptr<ByteSink> sink,
                                 const redact::Policy& policy, const RedactOptions& options) {
    if (const auto& damage = reader.damage()) {
        return fail(ErrorCode::kTruncated,
                    fmt::format("only a whole dump can be redacted: {}", damage->what));
    }
    ASSIGN_OR_RETURN(auto made, redact::Redactor::create(policy, options.kept));
    const std::shared_ptr<redact::Redactor> redactor = std::move(made);
    const auto progress = [&](std::uint64_t done) {
        if (options.on_progress) {
            options.on_progress(done, 2 * reader.flat_bytes());
        }
    };
    FirstPass first(*redactor, reader, policy);
    for (Frames frames(reader);;) {
        ASSIGN_OR_RETURN(const auto content, frames.next());
        if (!content) {
            break;
        }
        const auto begin = frames.offset() - content->size();
        RETURN_IF_ERROR(each_record(*content, [&](const Record& record) {
            return first.look_at(record, begin + record.at);
        }));
        progress(frames.offset());
    }
    DumpWriterOptions writing;
    writing.level = options.level;
    writing.threads = options.threads;
    writing.frame_bytes = reader.header().frame_bytes;
    writing.filter =
        std::make_shared<RunFilter>(redactor, reader, first.scheme(), first.take_collected());
    ASSIGN_OR_RETURN(auto writer, DumpWriter::create(std::move(sink), writing));
    SecondPass second(writer, redactor->said(true, options.tool_version));
    for (Frames frames(reader);;) {
        ASSIGN_OR_RETURN(const auto content, frames.next());
        if (!content) {
            break;
        }
        RETURN_IF_ERROR(second.frame(*content));
        progress(reader.flat_bytes() + frames.offset());
    }
    auto trailer = reader.trailer();
    RedactedDump result;
    result.unread = redactor->unread();
    if (!result.unread.empty()) {
        trailer.add_warning(result.unread);
    }
    ASSIGN_OR_RETURN(const auto written, writer.finish(trailer));
    result.file_bytes = written.file_bytes;
    return result;
}

}  // namespace beamdump
