#include "sql/sql_terms.h"

#include "query/heap/term_reading.h"
#include "query/holders/pattern.h"
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
Result<TermValue> term_value(const Source& source, const TermArguments& arguments) {
    const auto& [process, path, pattern] = arguments;
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
    ASSIGN_OR_RETURN(auto value, kValue(source, **reading, pattern));
    return TermValue{.cell = std::move(value), .not_told = {}, .no_part = {}};
}

Result<Cell> whole_text(const Source& /*source*/, TermReading& reading,
                        const std::string& /*pattern*/) {
    return Cell(reading.text().text);
}
Result<Cell> kind_of(const Source& /*source*/, TermReading& reading,
                     const std::string& /*pattern*/) {
    return Cell(std::string(reading.term()->kind));
}
Result<Cell> count_of(const Source& /*source*/, TermReading& reading,
                      const std::string& /*pattern*/) {
    return cell(reading.term()->count);
}
/// Sizes of a term with parts that the dump lacks are no sizes.
Result<Cell> words_of(const Source& /*source*/, TermReading& reading,
                      const std::string& /*pattern*/) {
    const auto& sizes = reading.term()->sizes;
    return sizes.unreadable == 0 ? Cell(sizes.shared) : Cell();
}
Result<Cell> flat_words_of(const Source& /*source*/, TermReading& reading,
                           const std::string& /*pattern*/) {
    const auto& sizes = reading.term()->sizes;
    return sizes.unreadable == 0 ? Cell(sizes.flat) : Cell();
}
Result<Cell> binary_bytes_of(const Source& /*source*/, TermReading& reading,
                             const std::string& /*pattern*/) {
    return cell(reading.term()->binary_bytes);
}

/// As --pattern of `search` has it.
Result<Cell> matches(const Source& source, TermReading& reading, const std::string& text) {
    ASSIGN_OR_RETURN(const auto pattern, query::parse_pattern(text));
    ASSIGN_OR_RETURN(const auto match, query::PatternMatch::make(source.dump->atoms(), pattern));
    auto& process = reading.process();
    WordReader words(process.context());
    return Cell(std::uint64_t{match.unknown_atoms().empty() &&
                              match.matches(process.scheme, words, reading.word())});
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
        TermFunction{"term_matches",
                     "1 if the term is like the pattern, in Erlang's or Elixir's syntax with _ "
                     "for any term",
                     term_value<matches, false>, true},
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
    Room room(*source.memory);
    Result<void> held;
    const auto take = [&](const query::TermPartLine& part) {
        if (!held) {
            return;
        }
        const bool sized = part.sizes.unreadable == 0;
        rows.push_back({cell(part.step), cell(part.field), std::string(part.kind), cell(part.count),
                        sized ? Cell(part.sizes.shared) : Cell(),
                        sized ? Cell(part.sizes.flat) : Cell(), cell(part.binary_bytes),
                        cell(part.text.text), cell(part.text.cut)});
        held = room.take(rows.back());
    };
    RETURN_IF_ERROR(reading->each_part({take, [](const query::TermPartLine&, std::uint64_t) {}}));
    RETURN_IF_ERROR(held);
    return std::make_unique<HeldRows>(std::move(rows), std::move(room));
}

}  // namespace beamdump::sql
