#include <libdump/model/dump.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <utility>

namespace beamdump {

namespace {

/// The literals' regions; those found by walking where a cut dump has no directory of them.
Result<std::vector<Region>> literal_regions(DumpReader& reader) {
    std::vector<Region> regions;
    if (const RecoveredIndex* recovered = reader.recovered()) {
        for (const auto& ref : recovered->literals) {
            auto region = region_of(ref);
            if (!region) {
                return std::unexpected(region.error());
            }
            regions.push_back(*region);
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
    auto reader = DumpReader::open(path, options);
    if (!reader) {
        return std::unexpected(reader.error());
    }
    const records::Trailer& trailer = reader->trailer();
    records::Capture capture;
    if (trailer.has_capture_offset()) {
        auto read = reader->message_at<records::Capture>(trailer.capture_offset(),
                                                         format::RecordKind::kCapture);
        if (!read) {
            return wrap("reading how the dump was captured", std::move(read.error()));
        }
        capture = std::move(*read);
    }
    records::Node node;
    if (trailer.has_node_offset()) {
        auto read =
            reader->message_at<records::Node>(trailer.node_offset(), format::RecordKind::kNode);
        if (!read) {
            return wrap("reading what is known of the node", std::move(read.error()));
        }
        node = std::move(*read);
    }
    return std::unique_ptr<Dump>(new Dump(std::move(*reader), std::move(capture), std::move(node)));
}

RegionMap& Dump::literals() {
    if (!literals_) {
        auto regions = literal_regions(reader_);
        if (!regions) {
            faults_.note(regions.error());
            regions.emplace();
        }
        literals_.emplace(reader_, std::move(*regions));
    }
    return *literals_;
}

CodeIndex& Dump::code() {
    if (!code_) {
        code_.emplace(reader_, faults_, atoms_, literals(),
                      static_cast<format::TermScheme>(node_.term_scheme()));
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

Result<records::ProcessRow> Dump::find_process(std::string_view name) {
    std::optional<std::uint64_t> row;
    if (const auto owner_id = parse_pid(name)) {
        auto found = processes_.find(records::PROCESS_COLUMN_OWNER_ID, *owner_id);
        if (!found) {
            return std::unexpected(found.error());
        }
        if (!*found) {
            return fail(ErrorCode::kNotFound,
                        fmt::format("the dump has no process {} among its {}; `processes` lists "
                                    "them",
                                    pid_text(*owner_id), processes_.size()));
        }
        row = *found;
    } else {
        auto atom = atoms_.index_of(name);
        if (!atom) {
            return std::unexpected(atom.error());
        }
        if (*atom) {
            auto found = processes_.find(records::PROCESS_COLUMN_REGISTERED_NAME, **atom);
            if (!found) {
                return std::unexpected(found.error());
            }
            row = *found;
        }
        if (!row) {
            return fail(ErrorCode::kNotFound,
                        fmt::format("no process in the dump is registered as '{}'; name it as "
                                    "<0.123.0> or find it with `processes --filter`",
                                    name));
        }
    }
    auto rows = processes_.rows(std::span(&*row, 1));
    if (!rows) {
        return std::unexpected(rows.error());
    }
    return std::move(rows->front());
}

}  // namespace beamdump
