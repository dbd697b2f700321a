#include "query/exported/export_line_reader.h"

#include "query/rows/cells.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace beamdump::query {

namespace {

constexpr std::size_t kLongestLine = 1 << 20;

bool has_type_of(const Column& column, bool has_text, bool has_number, bool has_flag) {
    return is_text(column.kind)               ? has_text
           : column.kind == ColumnKind::kFlag ? has_flag
                                              : has_number;
}

}  // namespace

struct ExportLineReader::Parser {
    simdjson::dom::parser parser;
};

ExportLineReader::ExportLineReader(std::string path)
    : path_(std::move(path)),
      bytes_(kLongestLine + 2 + simdjson::SIMDJSON_PADDING),
      parser_(std::make_unique<Parser>()) {}

ExportLineReader::~ExportLineReader() = default;

std::unexpected<Error> ExportLineReader::error(ErrorCode code, std::string_view what) const {
    return fail(code, fmt::format("{}: line {}: {}", path_, number_, what));
}

Result<void> ExportLineReader::open(std::uint64_t offset, std::uint64_t number) {
    file_.open(path_, std::ios::binary);
    file_.seekg(static_cast<std::streamoff>(offset));
    if (!file_) {
        return fail(ErrorCode::kIo, fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
    }
    next_offset_ = offset;
    next_number_ = number;
    return {};
}

Result<const ExportLine*> ExportLineReader::next() {
    file_.getline(bytes_.data(), kLongestLine + 2);
    const auto taken = static_cast<std::size_t>(file_.gcount());
    if (file_.bad()) {
        return fail(ErrorCode::kIo, fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
    }
    if (taken == 0 && file_.eof()) {
        return nullptr;
    }
    number_ = next_number_++;
    offset_ = next_offset_;
    next_offset_ += taken;
    if (file_.fail()) {
        return error(ErrorCode::kCorrupt, "longer than 1 MiB: not a line of export ndjson");
    }
    RETURN_IF_ERROR(file_.eof() ? parse(taken, LineEnd::kNone) : parse(taken - 1, LineEnd::kThere));
    return &line_;
}

Result<void> ExportLineReader::parse(std::size_t size, LineEnd end) {
    simdjson::dom::object object;
    const auto parsed = parser_->parser.parse(bytes_.data(), size, false);
    const auto failure = parsed.get_object().get(object);
    // An export ends with a line end; one line without it may be any other file.
    if (failure != simdjson::SUCCESS && end == LineEnd::kNone && number_ > 1) {
        return error(ErrorCode::kCorrupt,
                     "the file ends within it: copy or write the export again");
    }
    if (failure != simdjson::SUCCESS) {
        return error(ErrorCode::kCorrupt, fmt::format("not a JSON object ({}): of exports, those "
                                                      "of export ndjson are read",
                                                      simdjson::error_message(failure)));
    }
    line_.fields_.clear();
    for (const auto& [name, value] : object) {
        ExportLine::Value& field = line_.fields_.emplace_back(name, ExportLine::Other()).second;
        if (value.is_string()) {
            field = value.get_string().value_unsafe();
        } else if (value.is_bool()) {
            field = value.get_bool().value_unsafe();
        } else if (value.is_uint64()) {
            field = value.get_uint64().value_unsafe();
        }
    }
    const auto name = line_.text("kind");
    if (!name) {
        return error(ErrorCode::kCorrupt,
                     "without \"kind\": of exports, those of export ndjson are read");
    }
    const auto kinds = thing_kinds();
    const auto known = std::ranges::find(kinds, *name, &ThingKind::name);
    kind_ = known == kinds.end() ? nullptr : *known;
    return check_types();
}

Result<void> ExportLineReader::check_types() const {
    if (kind_ == nullptr) {
        return {};
    }
    for (const auto& [name, value] : line_.fields_) {
        const auto column = std::ranges::find(kind_->columns, name, &Column::name);
        if (column != kind_->columns.end() &&
            !has_type_of(*column, std::holds_alternative<std::string_view>(value),
                         std::holds_alternative<std::uint64_t>(value),
                         std::holds_alternative<bool>(value))) {
            return error(ErrorCode::kCorrupt, fmt::format("\"{}\" has another type than the schema "
                                                          "of export ndjson says",
                                                          name));
        }
    }
    return {};
}

const ExportLine::Value* ExportLine::find(std::string_view name) const {
    const auto found = std::ranges::find(fields_, name, &std::pair<std::string_view, Value>::first);
    return found == fields_.end() ? nullptr : &found->second;
}

std::optional<std::string> ExportLine::text(std::string_view name) const {
    const auto* value = find(name);
    const auto* known = value == nullptr ? nullptr : std::get_if<std::string_view>(value);
    return known == nullptr ? std::nullopt : std::optional<std::string>(*known);
}

Cell ExportLine::cell(const Column& column) const {
    if (column.kind == ColumnKind::kFlag) {
        return query::cell(flag(column.name));
    }
    if (!is_text(column.kind)) {
        return query::cell(number(column.name));
    }
    const auto known = text(column.name);
    return known && column.kind == ColumnKind::kAddress ? query::cell(address_of(*known))
                                                        : query::cell(known);
}

std::optional<std::uint64_t> ExportLine::number(std::string_view name) const {
    const auto* value = find(name);
    const auto* known = value == nullptr ? nullptr : std::get_if<std::uint64_t>(value);
    return known == nullptr ? std::nullopt : std::optional(*known);
}

std::optional<bool> ExportLine::flag(std::string_view name) const {
    const auto* value = find(name);
    const auto* known = value == nullptr ? nullptr : std::get_if<bool>(value);
    return known == nullptr ? std::nullopt : std::optional(*known);
}

}  // namespace beamdump::query
