#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/dump.h>
#include <libdump/model/owner_id.h>
#include <libdump/model/process_context.h>
#include <libdump/term/term_scheme.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

namespace beamdump {

namespace {

/// The literals' regions; for a truncated dump without their directory, those found by walking.
Result<std::vector<Region>> literal_regions(DumpReader& reader) {
    std::vector<Region> regions;
    if (const RecoveredIndex* recovered = reader.recovered()) {
        for (const auto& ref : recovered->literals) {
            ASSIGN_OR_RETURN(auto region, region_of(ref));
            regions.push_back(region);
        }
        return regions;
    }
    if (!reader.trailer().has_literals_directory_offset()) {
        return regions;
    }
    const std::uint64_t offset = reader.trailer().literals_directory_offset();
    auto page = reader.message_at<records::RunDirectory>(offset, format::RecordKind::kRunDirectory);
    if (!page) {
        return wrap("reading the directory of literals", std::move(page.error()));
    }
    auto directory = read_directory(reader, *page, offset);
    if (!directory) {
        return wrap("reading the directory of literals", std::move(directory.error()));
    }
    return std::move(directory->regions);
}

/// The first pids that differ from this one by one slip of the keyboard; at most three.
Result<std::vector<std::string>> nearest_pids(ProcessIndex& processes, const std::string& pid) {
    constexpr std::array kColumns = {records::PROCESS_COLUMN_OWNER_ID};
    constexpr std::size_t kMost = 3;
    std::vector<std::string> near;
    auto done = processes.visit(kColumns, [&](std::uint64_t /*row*/, ProcessIndex::Values values) {
        if (values[0]) {
            if (auto other = pid_text(*values[0]); edit_distance(pid, other, 1) == 1) {
                near.push_back(std::move(other));
            }
        }
        return near.size() < kMost;
    });
    return done ? Result<std::vector<std::string>>(near) : std::unexpected(done.error());
}

}  // namespace

Dump::Dump(DumpReader reader, records::Capture capture, records::Node node)
    : reader_(std::move(reader)),
      capture_(std::move(capture)),
      node_(std::move(node)),
      atoms_(reader_, faults_),
      tables_(reader_, faults_),
      binaries_(reader_),
      processes_(reader_) {}

Result<std::unique_ptr<Dump>> Dump::open(const std::filesystem::path& path,
                                         const DumpReaderOptions& options) {
    ASSIGN_OR_RETURN(auto reader, DumpReader::open(path, options));
    return read_facts(std::move(reader));
}

Result<std::unique_ptr<Dump>> Dump::open(Descriptor file, std::string name,
                                         const DumpReaderOptions& options) {
    ASSIGN_OR_RETURN(auto reader, DumpReader::open(std::move(file), std::move(name), options));
    return read_facts(std::move(reader));
}

Result<std::unique_ptr<Dump>> Dump::read_facts(DumpReader reader) {
    const records::Trailer& trailer = reader.trailer();
    records::Capture capture;
    if (trailer.has_capture_offset()) {
        auto read = reader.message_at<records::Capture>(trailer.capture_offset(),
                                                        format::RecordKind::kCapture);
        if (!read) {
            return wrap("reading how the dump was captured", std::move(read.error()));
        }
        capture = std::move(*read);
    }
    records::Node node;
    if (trailer.has_node_offset()) {
        auto read =
            reader.message_at<records::Node>(trailer.node_offset(), format::RecordKind::kNode);
        if (!read) {
            return wrap("reading the facts of the node", std::move(read.error()));
        }
        node = std::move(*read);
    }
    return std::unique_ptr<Dump>(new Dump(std::move(reader), std::move(capture), std::move(node)));
}

std::unique_ptr<ProcessContext> Dump::context_of(const ProcessRun& run) {
    return make_context_ ? make_context_(*this, run) : std::make_unique<ProcessContext>(*this, run);
}

RegionMap::Gaps Dump::gaps() const {
    return capture_.mode() == records::CAPTURE_MODE_CRASH_DUMP ? RegionMap::Gaps::kMarked
                                                               : RegionMap::Gaps::kNone;
}

RegionMap& Dump::literals() {
    if (!literals_) {
        auto regions = literal_regions(reader_);
        if (!regions) {
            faults_.note(regions.error());
            regions.emplace();
        }
        literals_.emplace(reader_, std::move(*regions), gaps());
    }
    return *literals_;
}

CodeIndex& Dump::code() {
    if (!code_) {
        code_.emplace(reader_, faults_, atoms_, literals(),
                      static_cast<format::TermScheme>(node_.term_scheme()),
                      node_.has_word_size() ? node_.word_size() : kWordBytes);
    }
    return *code_;
}

std::optional<CodeLocation> Dump::code_at(std::uint64_t address) {
    if (auto shown = tables_.code_point_at(address)) {
        CodeLocation location;
        location.code_point = std::move(*shown);
        return location;
    }
    return code().at(address);
}

Result<std::optional<std::uint64_t>> Dump::registered_row(std::string_view name) {
    ASSIGN_OR_RETURN(auto atom, atoms_.index_of(name));
    return atom ? processes_.find(records::PROCESS_COLUMN_REGISTERED_NAME, *atom)
                : Result<std::optional<std::uint64_t>>(std::nullopt);
}

/// The registered name nearest to `name`; empty if none is near.
Result<std::string> Dump::nearest_registered(std::string_view name) {
    constexpr std::array kColumns = {records::PROCESS_COLUMN_REGISTERED_NAME};
    Nearest nearest(name);
    auto done = processes_.visit(kColumns, [&](std::uint64_t /*row*/, ProcessIndex::Values values) {
        const auto text = values[0] ? atoms_.text(static_cast<std::uint32_t>(*values[0]))
                                    : std::optional<std::string>();
        if (text) {
            nearest.add(*text);
        }
        return true;
    });
    return done ? Result<std::string>(nearest.best()) : std::unexpected(done.error());
}

Result<std::uint64_t> Dump::row_of_pid(std::uint64_t owner_id) {
    ASSIGN_OR_RETURN(auto found, processes_.find(records::PROCESS_COLUMN_OWNER_ID, owner_id));
    if (found) {
        return *found;
    }
    const auto pid = pid_text(owner_id);
    ASSIGN_OR_RETURN(const auto near, nearest_pids(processes_, pid));
    return fail(
        ErrorCode::kNotFound,
        fmt::format("the dump has no process {} among its {}; {}", pid, processes_.size(),
                    near.empty() ? "`processes` lists them"
                                 : fmt::format("did you mean {}?", fmt::join(near, " or "))));
}

Result<std::uint64_t> Dump::row_of_name(const ProcessName& name) {
    for (const std::string& registered : name.registered) {
        ASSIGN_OR_RETURN(auto found, registered_row(registered));
        if (found) {
            return *found;
        }
    }
    ASSIGN_OR_RETURN(auto nearest, nearest_registered(name.registered.back()));
    return fail(
        ErrorCode::kNotFound,
        fmt::format("no process in the dump is registered as '{}'; {}", name.registered.back(),
                    nearest.empty() ? "name it as <0.123.0> or find it with `processes --filter`"
                                    : fmt::format("did you mean '{}'?", nearest)));
}

Result<records::ProcessRow> Dump::find_process(std::string_view name) {
    const ProcessName parsed = parse_process_name(name);
    ASSIGN_OR_RETURN(auto row,
                     parsed.owner_id ? row_of_pid(*parsed.owner_id) : row_of_name(parsed));
    ASSIGN_OR_RETURN(auto rows, processes_.rows(std::span(&row, 1)));
    return std::move(rows.front());
}

}  // namespace beamdump
