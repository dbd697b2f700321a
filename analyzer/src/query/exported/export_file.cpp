#include "query/exported/export_file.h"

#include "query/exported/export_line_reader.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>

namespace beamdump::query {

namespace {

constexpr std::string_view kSchema = "beamdump.export-line/";

std::optional<std::int64_t> signed_number(const std::optional<std::uint64_t>& number) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    return number && *number <= kMost ? std::optional(static_cast<std::int64_t>(*number))
                                      : std::nullopt;
}

/// Which values are unverified; of the layout no more is in an export.
std::optional<LayoutFacts> layout_of(const ExportLine& line) {
    const auto unverified = line.text("unverified");
    const bool inferred = line.flag("layout_inferred").value_or(false);
    if (!unverified && !inferred) {
        return std::nullopt;
    }
    LayoutFacts facts;
    facts.name = line.text("layout");
    facts.node_release = line.text("otp_release");
    facts.inferred = inferred;
    std::istringstream values(unverified.value_or(""));
    for (std::string value; values >> value;) {
        facts.unverified.push_back(value);
    }
    return facts;
}

}  // namespace

bool is_export(const std::string& path) {
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(path, unknown)) {
        return false;
    }
    std::ifstream file(path, std::ios::binary);
    char first = 0;
    return file >> first && (first == '{' || first == '[');
}

Result<ExportFile> ExportFile::open(const std::string& path) {
    ExportFile file;
    file.path_ = path;
    file.facts_.file = path;
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(path, unknown);
    if (unknown) {
        return fail(ErrorCode::kIo, fmt::format("cannot read {}: {}", path, unknown.message()));
    }
    file.facts_.file_bytes = bytes;
    RETURN_IF_ERROR(file.read_all());
    return file;
}

Result<void> ExportFile::read_all() {
    ExportLineReader reader(path_);
    RETURN_IF_ERROR(reader.open());
    bool ended = false;
    for (;;) {
        ASSIGN_OR_RETURN(const ExportLine* line, reader.next());
        if (line == nullptr) {
            break;
        }
        const bool first = reader.number() == 1;
        const bool is_dump = reader.kind() == &dump_kind();
        if (first != is_dump) {
            return first ? reader.error(ErrorCode::kNotADump,
                                        "not of kind \"dump\", with which an export begins")
                         : reader.error(ErrorCode::kUnsupported,
                                        "a second dump in the file: compare exports of one dump "
                                        "each");
        }
        if (ended) {
            return reader.error(ErrorCode::kCorrupt, "after the line of kind \"end\"");
        }
        if (first) {
            const auto schema = line->text("schema");
            if (!schema || !schema->starts_with(kSchema)) {
                return reader.error(ErrorCode::kNotADump,
                                    "not an export: \"schema\" is not beamdump.export-line/1");
            }
            if (schema->substr(kSchema.size()) != "1") {
                return reader.error(ErrorCode::kNewerVersion,
                                    fmt::format("an export of schema {}: this version reads "
                                                "beamdump.export-line/1",
                                                *schema));
            }
            RETURN_IF_ERROR(take_dump(*line));
        }
        if (reader.kind() == nullptr) {
            continue;
        }
        const auto [span, added] = spans_.try_emplace(reader.kind()->name);
        if (added) {
            span->second.offset = reader.offset();
            span->second.number = reader.number();
        }
        span->second.end = reader.end();
        ++span->second.count;
        if (reader.kind() == &end_kind()) {
            ended = true;
            take_end(*line);
        }
    }
    return ended ? Result<void>()
                 : reader.error(ErrorCode::kTruncated,
                                "the last one, but not of kind \"end\": the export is not "
                                "complete");
}

Result<void> ExportFile::take_dump(const ExportLine& line) {
    facts_.node_name = line.text("node");
    facts_.captured_us = signed_number(line.number("captured_us"));
    facts_.redaction = line.text("redaction");
    facts_.memory_of_heaps = line.flag("memory_of_heaps").value_or(false);
    facts_.layout = layout_of(line);
    of_crash_dump_ = line.text("slogan") || line.text("crash_date");
    whole_ = line.flag("complete").value_or(false);
    if (!whole_) {
        facts_.damage = line.text("damage").value_or("the export does not say why");
    }
    // It is not known of a crash dump unless said: older exports do not say it.
    if (of_crash_dump_) {
        whole_ &= line.flag("text_complete").value_or(false);
    }
    run_.node_name = facts_.node_name;
    run_.boot_us = signed_number(line.number("boot_us"));
    run_.os_pid = line.number("os_pid");
    if (of_crash_dump_) {
        run_.crash.emplace(line.text("slogan").value_or(""), line.text("crash_date").value_or(""));
    }
    for (const Column& column : dump_kind().columns) {
        if (const auto number = line.number(column.name)) {
            numbers_[column.name] = *number;
        }
    }
    return {};
}

void ExportFile::take_end(const ExportLine& line) {
    facts_.export_detail = line.text("detail").value_or("unknown");
    const bool limited = line.number("item_limit").has_value();
    whole_ &= !limited;
    has_processes_ = count(process_kind()) != 0;
    // Lines may have been taken out since.
    whole_ &= !has_processes_ || fact("processes") == count(process_kind());
}

std::uint64_t ExportFile::count(const ThingKind& kind) const {
    const auto span = spans_.find(kind.name);
    return span == spans_.end() ? 0 : span->second.count;
}

std::optional<std::uint64_t> ExportFile::fact(std::string_view name) const {
    const auto number = numbers_.find(name);
    return number == numbers_.end() ? std::nullopt : std::optional(number->second);
}

Result<void> ExportFile::visit(const ThingKind& kind,
                               const std::function<void(const ExportLine&)>& visit) const {
    const auto span = spans_.find(kind.name);
    if (span == spans_.end()) {
        return {};
    }
    ExportLineReader reader(path_);
    RETURN_IF_ERROR(reader.open(span->second.offset, span->second.number));
    std::uint64_t visited = 0;
    while (visited < span->second.count) {
        ASSIGN_OR_RETURN(const ExportLine* line, reader.next());
        if (line == nullptr || reader.offset() >= span->second.end) {
            return fail(ErrorCode::kChanged, fmt::format("{} changed while it was read", path_));
        }
        if (reader.kind() == &kind) {
            visit(*line);
            ++visited;
        }
    }
    return {};
}

}  // namespace beamdump::query
