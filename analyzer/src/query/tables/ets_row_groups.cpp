#include "query/tables/ets_row_groups.h"

#include "query/process/process_line.h"
#include "query/tables/atoms.h"
#include "query/term/term_parts.h"
#include "query/term/term_text.h"
#include "query/term/term_view.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>
#include <utility>

namespace beamdump::query {

namespace {

constexpr std::array<Column, 4> kRowColumns = {{{"key", "KEY", ColumnKind::kText, true},
                                                {"shape", "SHAPE", ColumnKind::kText, true},
                                                {"size", "SIZE"},
                                                {"words", "WORDS", ColumnKind::kCount}}};
/// What keys have in common comes first: longer texts would make a group of each key.
constexpr std::size_t kGroupKeyBytes = 32;
constexpr std::uint64_t kMaxShownElements = 8;

std::string key_text(EtsRowListing::Reader& reader, const TagScheme& scheme, std::uint64_t row,
                     std::uint64_t position) {
    const TermView view(reader.context, scheme);
    const auto word = view.arity(row) < position ? std::nullopt : view.element(row, position);
    if (!word) {
        return "?";
    }
    const auto text = term_text(reader.printer, *word, kGroupKeyBytes);
    return folded_digits(text.text) + (text.cut ? "..." : "");
}

/// "list"; of a tuple that begins with an atom "{order,_}".
std::string element_text(EtsRowListing::Reader& reader, const TagScheme& scheme,
                         std::uint64_t word) {
    const TermView view(reader.context, scheme);
    const auto arity = view.arity(word);
    const auto first = arity == 0 ? std::nullopt : view.element(word, 1);
    const auto tag = first ? view.atom(*first) : std::nullopt;
    if (!tag) {
        return std::string(term_kind_text(scheme, reader.words, word));
    }
    std::string text = "{" + atom_text(reader.context, *tag);
    for (std::uint64_t at = 2; at <= std::min(arity, kMaxShownElements); ++at) {
        text += ",_";
    }
    return text + (arity > kMaxShownElements ? ",...}" : "}");
}

std::string shape_text(EtsRowListing::Reader& reader, const TagScheme& scheme, std::uint64_t row) {
    const TermView view(reader.context, scheme);
    const auto arity = view.arity(row);
    std::string text = "{";
    for (std::uint64_t at = 1; at <= std::min(arity, kMaxShownElements); ++at) {
        const auto word = view.element(row, at);
        text += at == 1 ? "" : ",";
        text += word ? element_text(reader, scheme, *word) : "?";
    }
    return text + (arity > kMaxShownElements ? fmt::format(",... {} elements}}", arity) : "}");
}

/// Adds rows to lists.
EtsRowListing::Look rows_into(const EtsTableLine& table, std::span<RowList> lists) {
    return [position = table.keypos.value_or(1), lists](EtsRowListing::Reader& reader,
                                                        const TagScheme& scheme, std::uint64_t row,
                                                        std::uint64_t words) {
        const auto least = std::bit_floor(words);
        const Row cells = {key_text(reader, scheme, row, position), shape_text(reader, scheme, row),
                           fmt::format("{} to {} words", least, 2 * least - 1), words};
        for (RowList& list : lists) {
            list.add(cells);
        }
        return true;
    };
}

}  // namespace

std::span<const Column> ets_row_columns() {
    return kRowColumns;
}

Result<RowList> ets_row_groups(EtsRowListing& listing, const RowQuery& query) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kRowColumns, query));
    if (listing.table().compressed.value_or(false)) {
        return fail(ErrorCode::kAbsent,
                    "rows of a compressed table cannot be grouped: their elements are not decoded");
    }
    RETURN_IF_ERROR(listing.each_tuple(rows_into(listing.table(), {&list, 1})));
    return list;
}

Result<std::optional<EtsRowSample>> sample_ets_rows(EtsRowListing& listing) {
    constexpr std::uint64_t kShownGroups = 5;
    constexpr std::array<std::string_view, 3> kFields = {"shape", "key", "size"};
    const auto& options = listing.options();
    const auto captured = listing.counts().captured;
    if (options.key || options.limit == 0 || options.limit >= captured ||
        captured <= EtsRowSample::kRows || listing.table().compressed.value_or(true)) {
        return std::optional<EtsRowSample>();
    }
    std::vector<RowList> lists;
    for (const auto field : kFields) {
        ASSIGN_OR_RETURN(auto list, RowList::make(kRowColumns, {.sort = "key",
                                                                .filters = {},
                                                                .limit = kShownGroups,
                                                                .group_by = {std::string(field)}}));
        lists.push_back(std::move(list));
    }
    RETURN_IF_ERROR(listing.each_sampled(EtsRowSample::kRows, rows_into(listing.table(), lists)));
    EtsRowSample sample;
    for (std::size_t at = 0; at < lists.size(); ++at) {
        sample.rows = lists[at].matching();
        sample.groups.push_back({kFields.at(at), lists[at].group_count(), {}});
        sample.groups.back().largest = lists[at].take_groups("key");
    }
    return std::optional(std::move(sample));
}

}  // namespace beamdump::query
