#include "query/tables/ets_row_groups.h"

#include "query/node/process_line.h"
#include "query/tables/atoms.h"
#include "query/term/term_parts.h"
#include "query/term/term_text.h"
#include "query/term/term_view.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace beamdump::query {

namespace {

constexpr std::array<Column, 4> kRowColumns = {{{"key", "KEY", ColumnKind::kText, true},
                                                {"shape", "SHAPE", ColumnKind::kText, true},
                                                {"size", "SIZE"},
                                                {"words", "WORDS", ColumnKind::kCount}}};
/// What keys have in common comes first: longer texts would make a group of each key.
constexpr std::size_t kKeyBytes = 32;
constexpr std::uint64_t kMaxShownElements = 8;

std::string key_text(EtsRowListing::Reader& reader, const TagScheme& scheme, std::uint64_t row,
                     std::uint64_t position) {
    const TermView view(reader.context, scheme);
    const auto word = view.arity(row) < position ? std::nullopt : view.element(row, position);
    if (!word) {
        return "?";
    }
    const auto text = term_text(reader.printer, *word, kKeyBytes);
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
    const auto position = listing.table().keypos.value_or(1);
    const EtsRowListing::Look look = [&](EtsRowListing::Reader& reader, const TagScheme& scheme,
                                         std::uint64_t row, std::uint64_t words) {
        const auto least = std::bit_floor(words);
        list.add({key_text(reader, scheme, row, position), shape_text(reader, scheme, row),
                  fmt::format("{} to {} words", least, 2 * least - 1), words});
        return true;
    };
    RETURN_IF_ERROR(listing.each_tuple(look));
    return list;
}

}  // namespace beamdump::query
