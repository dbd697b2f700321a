#include "sql/sql_terms.h"

#include "query/heap/term_reading.h"
#include "query/rows/cells.h"
#include "sql/sql_rows.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace beamdump::sql {

namespace {

using query::cell;
using query::Cell;
using query::Column;
using query::ColumnKind;
using query::Row;
using query::TermReading;

/// `value` of the term, with its sizes or without.
template <auto kValue, bool kSized>
Result<TermValue> term_value(const Source& source, const std::string& process,
                             const std::string& path) {
    if (path.empty()) {
        return fail(ErrorCode::kUsage, "the path is empty: state, message 1, dictionary KEY...");
    }
    const auto row = source.dump->find_process(process);
    if (!row) {
        return row.error().code == ErrorCode::kNotFound
                   ? Result<TermValue>({.cell = {}, .not_told = row.error().message, .no_part = {}})
                   : std::unexpected(row.error());
    }
    query::TermQuery query;
    query.path = path;
    query.part_bytes = kTermBytes;
    query.sensitive = source.sensitive;
    query.without_sizes = !kSized;
    query.limits = source.limits;
    const auto reading = TermReading::open(*source.dump, source.file, process, query);
    if (!reading) {
        return reading.error().code == ErrorCode::kNotFound
                   ? Result<TermValue>(
                         {.cell = {}, .not_told = {}, .no_part = reading.error().message})
                   : std::unexpected(reading.error());
    }
    if (const auto shown = check_shown((*reading)->withheld(), (*reading)->line()); !shown) {
        return TermValue{.cell = {}, .not_told = shown.error().message, .no_part = {}};
    }
    return TermValue{.cell = kValue(**reading), .not_told = {}, .no_part = {}};
}

Cell whole_text(TermReading& reading) {
    return reading.text().text;
}
Cell kind_of(TermReading& reading) {
    return std::string(reading.term()->kind);
}
Cell count_of(TermReading& reading) {
    return cell(reading.term()->count);
}
/// Sizes of a term with parts that the dump lacks are no sizes.
Cell words_of(TermReading& reading) {
    const auto& sizes = reading.term()->sizes;
    return sizes.unreadable == 0 ? Cell(sizes.shared) : Cell();
}
Cell flat_words_of(TermReading& reading) {
    const auto& sizes = reading.term()->sizes;
    return sizes.unreadable == 0 ? Cell(sizes.flat) : Cell();
}
Cell binary_bytes_of(TermReading& reading) {
    return cell(reading.term()->binary_bytes);
}

constexpr std::array kPartColumns = {
    Column{.name = "step", .sentence = "The step that leads to it, or the root's name"},
    Column{.name = "field", .sentence = "The field's name, of a record that is known (--beam)"},
    Column{.name = "kind", .sentence = "list, tuple, map, atom..."},
    Column{.name = "count",
           .kind = ColumnKind::kCount,
           .sentence = "Parts of a list, tuple, map, fun or native record"},
    Column{.name = "words",
           .kind = ColumnKind::kCount,
           .sentence = "As erts_debug:size/1: each object once"},
    Column{.name = "flat_words",
           .kind = ColumnKind::kCount,
           .sentence = "As erts_debug:flat_size/1: what a message of it takes"},
    Column{.name = "binary_bytes",
           .kind = ColumnKind::kBytes,
           .sentence = "Of the reference-counted binaries that it keeps"},
    Column{.name = "term", .sentence = "The first 4,096 bytes of its text"},
    Column{.name = "cut", .kind = ColumnKind::kFlag, .sentence = "Whether the text goes on"}};

}  // namespace

std::span<const TermFunction> term_functions() {
    static constexpr std::array kFunctions = {
        TermFunction{"term", "The first 4,096 bytes of the term's text",
                     term_value<whole_text, false>},
        TermFunction{"term_binary_bytes", "Bytes of the reference-counted binaries that it keeps",
                     term_value<binary_bytes_of, true>},
        TermFunction{"term_count", "Parts of a list, tuple, map, fun or native record",
                     term_value<count_of, false>},
        TermFunction{"term_flat_words", "Its size as erts_debug:flat_size/1",
                     term_value<flat_words_of, true>},
        TermFunction{"term_kind", "list, tuple, map, atom...", term_value<kind_of, false>},
        TermFunction{"term_words", "Its size as erts_debug:size/1", term_value<words_of, true>}};
    return kFunctions;
}

std::span<const Column> term_part_columns() {
    return kPartColumns;
}

Result<std::unique_ptr<Rows>> open_terms(const Source& source, const Request& request) {
    const auto process = query::cell_text(request.arguments[0]);
    const auto path = request.arguments.size() > 1 ? query::cell_text(request.arguments[1]) : "";
    query::TermQuery query;
    query.path = path;
    query.limit = request.limit;
    query.part_bytes = kTermBytes;
    query.sensitive = source.sensitive;
    query.limits = source.limits;
    ASSIGN_OR_RETURN(const auto reading,
                     TermReading::open(*source.dump, source.file, process, query));
    RETURN_IF_ERROR(check_shown(reading->withheld(), reading->line()));
    std::vector<Row> rows;
    Room room(source.limits);
    Result<void> held;
    const auto take = [&](const query::TermPartLine& part) {
        if (!held) {
            return;
        }
        held = room.take(part.step.size() + part.text.text.size());
        const bool sized = part.sizes.unreadable == 0;
        rows.push_back({cell(part.step), cell(part.field), std::string(part.kind), cell(part.count),
                        sized ? Cell(part.sizes.shared) : Cell(),
                        sized ? Cell(part.sizes.flat) : Cell(), cell(part.binary_bytes),
                        cell(part.text.text), cell(part.text.cut)});
    };
    RETURN_IF_ERROR(reading->each_part({take, [](const query::TermPartLine&, std::uint64_t) {}}));
    RETURN_IF_ERROR(held);
    return std::make_unique<HeldRows>(std::move(rows));
}

}  // namespace beamdump::sql
