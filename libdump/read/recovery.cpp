#include <libdump/base/bytes.h>
#include <libdump/base/first_items.h>
#include <libdump/base/return_if_error.h>
#include <libdump/format/format.h>
#include <libdump/format/process_row.h>
#include <libdump/read/file/file_header.h>
#include <libdump/read/frames/frame.h>
#include <libdump/read/frames/frame_scan.h>
#include <libdump/read/recovered_index.h>
#include <libdump/read/recovery.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace beamdump {

namespace {

/// Rebuilds a lost trailer and its index pages from all records in order.
class IndexRebuilder {
  public:
    /// Adds a frame's records. Frames are in order; the contents of gaps are unknown.
    void add(const Frame& frame);

    /// The dump's own trailer, if its record was among the frames.
    [[nodiscard]] const std::optional<records::Trailer>& own_trailer() const {
        return own_trailer_;
    }

    /// Ends the walk: completes totals and top lists. Call once.
    void finish();
    [[nodiscard]] records::Trailer& trailer() { return trailer_; }
    [[nodiscard]] RecoveredIndex& index() { return index_; }

  private:
    void take(format::RecordKind kind, std::uint64_t offset, std::span<const std::byte> payload);
    void take_capture(format::RecordKind kind, std::uint64_t offset,
                      std::span<const std::byte> payload);
    void take_atoms(std::uint64_t offset, std::span<const std::byte> payload);
    void take_module(std::uint64_t offset, std::span<const std::byte> payload);
    void take_region(std::uint64_t offset, std::span<const std::byte> payload);
    void take_binaries(std::uint64_t offset, std::span<const std::byte> payload);
    void open_process(std::span<const std::byte> payload);
    void close_process(std::uint64_t offset, std::span<const std::byte> payload);
    void keep_row(records::ProcessRow row);
    bool parse(std::span<const std::byte> payload, google::protobuf::MessageLite& message);

    records::Trailer trailer_;
    std::optional<records::Trailer> own_trailer_;
    RecoveredIndex index_;
    std::optional<records::Process> open_;  // whose run has no end yet
    std::unordered_map<std::uint64_t, std::size_t> row_of_owner_;
    std::uint64_t unparsed_ = 0;
};

/// The `limit` rows with the largest values of a column, largest first; rows whose value is 0 or
/// unknown are omitted.
records::TopList top_list(const std::vector<records::ProcessRow>& rows,
                          records::ProcessColumnKind by, std::size_t limit) {
    using Value = std::pair<std::uint64_t, std::size_t>;
    const auto larger = [](const Value& a, const Value& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    };
    FirstItems<Value, decltype(larger)> largest(limit, larger);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (const auto value = column_value(rows[i], by).value_or(0); value != 0) {
            largest.add({value, i});
        }
    }
    records::TopList list;
    list.set_by(by);
    for (const auto& [value, row] : largest.take()) {
        *list.add_row() = rows[row];
    }
    return list;
}

using format::RecordKind;

/// Rows in each rebuilt top list.
constexpr std::size_t kTopRows = 20;

records::RegionRef ref_of(const format::RegionHeader& header, std::uint64_t offset) {
    records::RegionRef ref;
    ref.set_kind(static_cast<std::uint32_t>(header.region_kind));
    ref.set_address(header.address);
    ref.set_total(header.total);
    ref.set_here(header.count);
    ref.set_offset(offset);
    return ref;
}

/// By address; those of one address stay in the stream's order.
void sort_binaries(std::vector<BinaryLocation>& binaries) {
    std::ranges::stable_sort(binaries, {}, &BinaryLocation::address);
}

bool IndexRebuilder::parse(std::span<const std::byte> payload,
                           google::protobuf::MessageLite& message) {
    const bool parsed = message.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
    unparsed_ += parsed ? 0 : 1;
    return parsed;
}

void IndexRebuilder::add(const Frame& frame) {
    std::uint64_t position = 0;
    while (position < frame.bytes().size()) {
        take(static_cast<RecordKind>(frame.header_at(position).kind),
             frame.where().flat_offset + position, frame.payload_at(position));
        position = frame.after(position);
    }
}

void IndexRebuilder::take(RecordKind kind, std::uint64_t offset,
                          std::span<const std::byte> payload) {
    switch (kind) {
        case RecordKind::kAtoms:
            return take_atoms(offset, payload);
        case RecordKind::kModule:
            return take_module(offset, payload);
        case RecordKind::kRegion:
            return take_region(offset, payload);
        case RecordKind::kBinaries:
            return take_binaries(offset, payload);
        case RecordKind::kProcess:
            return open_process(payload);
        case RecordKind::kProcessEnd:
            return close_process(offset, payload);
        default:
            return take_capture(kind, offset, payload);
    }
}

/// Records of which only the place matters.
void IndexRebuilder::take_capture(RecordKind kind, std::uint64_t offset,
                                  std::span<const std::byte> payload) {
    switch (kind) {
        case RecordKind::kCapture:
            return trailer_.set_capture_offset(offset);
        case RecordKind::kNode:
            return trailer_.set_node_offset(offset);
        case RecordKind::kEpoch:
            return trailer_.add_epoch_offset(offset);
        case RecordKind::kExports:
            return trailer_.add_exports_offset(offset);
        case RecordKind::kFunEntries:
            return trailer_.add_fun_entries_offset(offset);
        case RecordKind::kNodeEntries:
            return trailer_.add_node_entries_offset(offset);
        case RecordKind::kCatches:
            return trailer_.add_catches_offset(offset);
        case RecordKind::kCodePoints:
            return trailer_.add_code_points_offset(offset);
        case RecordKind::kEtsTables:
            return trailer_.add_ets_tables_offset(offset);
        case RecordKind::kEtsRows:
            return trailer_.add_ets_rows_offset(offset);
        case RecordKind::kPorts:
            return trailer_.add_ports_offset(offset);
        case RecordKind::kTimers:
            return trailer_.add_timers_offset(offset);
        case RecordKind::kScheduler:
            return trailer_.add_schedulers_offset(offset);
        case RecordKind::kDistributionEntries:
            return trailer_.add_distribution_offset(offset);
        case RecordKind::kPersistentTerms:
            return trailer_.add_persistent_terms_offset(offset);
        case RecordKind::kCrashSections:
            return trailer_.add_crash_sections_offset(offset);
        case RecordKind::kAllocator:
            return trailer_.add_allocator_offset(offset);
        case RecordKind::kCarriers:
            return trailer_.add_carriers_offset(offset);
        case RecordKind::kBlocks:
            return trailer_.add_blocks_offset(offset);
        case RecordKind::kSamples:
            return trailer_.add_samples_offset(offset);
        case RecordKind::kSockets:
            return trailer_.add_sockets_offset(offset);
        case RecordKind::kLoadedModules:
            return trailer_.add_loaded_modules_offset(offset);
        case RecordKind::kHistory:
            return trailer_.add_history_offset(offset);
        case RecordKind::kCrash:
            return trailer_.add_crash_offset(offset);
        case RecordKind::kEmulator:
            return trailer_.add_emulator_offset(offset);
        case RecordKind::kResourceTypes:
            return trailer_.add_resource_types_offset(offset);
        case RecordKind::kSystemMemory:
            return trailer_.set_system_memory_offset(offset);
        case RecordKind::kRunDirectory:
            // Outside a process's run a directory is that of the literals; the last page refers to
            // the ones before it.
            if (!open_) {
                trailer_.set_literals_directory_offset(offset);
            }
            return;
        case RecordKind::kTrailer:
            if (records::Trailer own; parse(payload, own)) {
                own_trailer_ = std::move(own);
            }
            return;
        default:
            return;
    }
}

void IndexRebuilder::take_atoms(std::uint64_t offset, std::span<const std::byte> payload) {
    records::Atoms atoms;
    if (!parse(payload, atoms)) {
        return;
    }
    auto* page = trailer_.add_atoms();
    page->set_first_index(atoms.first_index());
    page->set_count(static_cast<std::uint32_t>(atoms.text_size()));
    page->set_offset(offset);
    auto& totals = *trailer_.mutable_totals();
    totals.set_atoms(totals.atoms() + static_cast<std::uint64_t>(atoms.text_size()));
    for (const std::string& text : atoms.text()) {
        totals.set_atom_text_bytes(totals.atom_text_bytes() + text.size());
    }
}

void IndexRebuilder::take_module(std::uint64_t offset, std::span<const std::byte> payload) {
    records::Module module;
    if (!parse(payload, module)) {
        return;
    }
    auto& ref = index_.modules.emplace_back();
    if (module.has_name_atom()) {
        ref.set_name_atom(module.name_atom());
    }
    if (module.has_instance()) {
        ref.set_instance(module.instance());
    }
    if (module.has_code_start()) {
        ref.set_code_start(module.code_start());
    }
    if (module.has_code_end()) {
        ref.set_code_end(module.code_end());
    }
    ref.set_offset(offset);
    auto& totals = *trailer_.mutable_totals();
    totals.set_modules(totals.modules() + 1);
    if (module.code_end() > module.code_start()) {
        totals.set_code_bytes(totals.code_bytes() + module.code_end() - module.code_start());
    }
}

void IndexRebuilder::take_region(std::uint64_t offset, std::span<const std::byte> payload) {
    const auto header = load<format::RegionHeader>(payload);
    if (!header || header->region_kind != format::RegionKind::kLiterals) {
        return;
    }
    auto& totals = *trailer_.mutable_totals();
    totals.set_literal_words(totals.literal_words() + header->count);
    if (header->first == 0) {
        index_.literals.push_back(ref_of(*header, offset));
        return;
    }
    // A further piece of a striped region, unless the piece before it was lost.
    if (!index_.literals.empty() && index_.literals.back().address() == header->address &&
        index_.literals.back().here() == header->first) {
        index_.literals.back().set_here(header->first + header->count);
        index_.literals.back().set_striped(true);
    }
}

void IndexRebuilder::take_binaries(std::uint64_t offset, std::span<const std::byte> payload) {
    records::Binaries binaries;
    if (!parse(payload, binaries)) {
        return;
    }
    auto& totals = *trailer_.mutable_totals();
    for (const records::Binary& binary : binaries.binary()) {
        index_.binaries.push_back({binary.address(), offset});
        std::uint64_t captured = binary.prefix().size() + binary.content_bytes();
        for (const auto& part : binary.part()) {
            captured += part.content().size();
        }
        totals.set_binaries(totals.binaries() + 1);
        totals.set_binary_bytes(totals.binary_bytes() + binary.size_bytes());
        totals.set_binary_bytes_captured(totals.binary_bytes_captured() + captured);
    }
}

void IndexRebuilder::open_process(std::span<const std::byte> payload) {
    index_.unfinished_processes += open_ ? 1 : 0;
    if (!parse(payload, open_.emplace())) {
        open_.reset();
    }
}

void IndexRebuilder::close_process(std::uint64_t offset, std::span<const std::byte> payload) {
    records::ProcessEnd end;
    if (!parse(payload, end) || !end.has_owner_id()) {
        return;
    }
    const bool belongs = open_ && open_->owner_id() == end.owner_id();
    // The run's beginning may have been in a lost frame.
    const records::Process unknown;
    records::ProcessRow row;
    set_row(belongs ? *open_ : unknown, end, offset, row);
    keep_row(std::move(row));
    auto& totals = *trailer_.mutable_totals();
    totals.set_words_captured(totals.words_captured() + end.words_captured());
    index_.unfinished_processes += open_ && !belongs ? 1 : 0;
    open_.reset();
}

/// Where a process has several runs the last consistent one counts, or the last if none is.
void IndexRebuilder::keep_row(records::ProcessRow row) {
    const auto [place, inserted] = row_of_owner_.emplace(row.owner_id(), index_.processes.size());
    if (inserted) {
        index_.processes.push_back(std::move(row));
        return;
    }
    auto& kept = index_.processes[place->second];
    if (row.void_reason() == records::VOID_REASON_NONE ||
        kept.void_reason() != records::VOID_REASON_NONE) {
        kept = std::move(row);
    }
}

void IndexRebuilder::finish() {
    index_.unfinished_processes += open_ ? 1 : 0;
    open_.reset();
    row_of_owner_.clear();
    sort_binaries(index_.binaries);
    for (const auto& row : index_.processes) {
        add_to_totals(row, *trailer_.mutable_totals());
    }
    for (const auto column :
         {records::PROCESS_COLUMN_MEMORY_BYTES, records::PROCESS_COLUMN_REDUCTIONS,
          records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH}) {
        *trailer_.add_top() = top_list(index_.processes, column, kTopRows);
    }
    if (unparsed_ != 0) {
        trailer_.add_warning(
            fmt::format("{} records could not be understood and were left out", unparsed_));
    }
}

Error nothing_whole(const FileSource& file) {
    if (file.size() == kFileHeaderBytes) {
        return {ErrorCode::kTruncated,
                fmt::format("{} holds the header of a dump and nothing else: the capture ended "
                            "before anything was written",
                            file.name())};
    }
    return {
        ErrorCode::kTruncated,
        fmt::format("{} holds no whole frame: none of its {} bytes after the header can be used",
                    file.name(), file.size() - kFileHeaderBytes)};
}

Damage damage_of(const FileSource& file, const ScannedFrames& scanned, const Error& why) {
    Damage damage;
    damage.truncated = !scanned.tail;
    for (const LostRange& lost : scanned.lost) {
        damage.lost_bytes += lost.end - lost.begin;
    }
    const auto& frames = scanned.frames.frames();
    const std::uint64_t expected =
        scanned.tail ? scanned.tail->frames : std::uint64_t{frames.back().sequence} + 1;
    const std::uint64_t missing = expected - std::min<std::uint64_t>(expected, frames.size());
    damage.what =
        damage.truncated
            ? fmt::format(
                  "{} was cut off: its last whole frame is number {}, which ends "
                  "at byte {} of {}",
                  file.name(), frames.back().sequence, frames.back().file_end(), file.size())
            : why.message;
    if (missing != 0) {
        damage.what +=
            fmt::format("; {} of {} frames before its end are damaged, the first at byte {}",
                        missing, expected, scanned.lost.empty() ? 0 : scanned.lost.front().begin);
    } else if (!damage.truncated) {
        damage.what += fmt::format("; all of its {} frames are whole", frames.size());
    }
    if (scanned.gave_up) {
        damage.what += "; the search for further frames was given up";
    }
    return damage;
}

}  // namespace

Result<RecoveredDump> recover_dump(FileSource& file, FrameLoader& loader,
                                   const format::FileHeader& header, const Error& why) {
    IndexRebuilder rebuilder;
    ASSIGN_OR_RETURN(auto scanned, scan_frames(file, loader, header,
                                               [&](const auto& frame) { rebuilder.add(*frame); }));
    if (scanned.frames.frames().empty()) {
        return std::unexpected(nothing_whole(file));
    }
    RecoveredDump dump{.frames = scanned.frames,
                       .trailer = {},
                       .index = std::nullopt,
                       .damage = damage_of(file, scanned, why)};
    if (const auto& own = rebuilder.own_trailer()) {
        dump.trailer = *own;
    } else {
        rebuilder.finish();
        dump.trailer = std::move(rebuilder.trailer());
        dump.index = std::move(rebuilder.index());
    }
    return dump;
}

}  // namespace beamdump
