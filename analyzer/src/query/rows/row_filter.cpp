#include "query/rows/row_filter.h"

#include "query/rows/choice.h"

#include <libdump/base/byte_amount.h>
#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/term/elixir_text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace beamdump::query {

namespace {

bool is_column_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

char lower_letter(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(' ');
    return first == std::string_view::npos
               ? std::string_view()
               : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Where `part` begins in `text` from `from` on.
std::size_t find_part(std::string_view text, std::string_view part, std::size_t from,
                      Case letters) {
    if (letters == Case::kMatters) {
        return text.find(part, from);
    }
    const auto rest = text.substr(std::min(from, text.size()));
    const auto found = std::ranges::search(rest, part, {}, lower_letter, lower_letter);
    return found.empty() && !part.empty()
               ? std::string_view::npos
               : from + static_cast<std::size_t>(found.begin() - rest.begin());
}

/// "90", "90.5" or "90.5%" in tenths of a percent.
std::optional<std::uint64_t> tenths_of(std::string_view text) {
    if (text.ends_with('%')) {
        text.remove_suffix(1);
    }
    const auto point = text.find('.');
    const auto whole = decimal_number(text.substr(0, point));
    const auto rest = point == std::string_view::npos ? std::optional<std::uint64_t>(0)
                      : text.size() == point + 2      ? decimal_number(text.substr(point + 1))
                                                      : std::nullopt;
    constexpr std::uint64_t kTenths = 10;
    return whole && rest && *whole <= UINT32_MAX ? std::optional(*whole * kTenths + *rest)
                                                 : std::nullopt;
}

/// The number that a value of a filter is, and how such numbers are written.
std::optional<std::uint64_t> number_of(ColumnKind kind, std::string_view value) {
    switch (kind) {
        case ColumnKind::kBytes:
        case ColumnKind::kBytesIfAny:
            return byte_amount(value);
        case ColumnKind::kTenths:
            return tenths_of(value);
        case ColumnKind::kAddress:
            return address_of(value);
        case ColumnKind::kFlag:
            return value == "true"    ? std::optional<std::uint64_t>(1)
                   : value == "false" ? std::optional<std::uint64_t>(0)
                                      : std::nullopt;
        default:
            return decimal_number(value);
    }
}

std::string_view written_as(ColumnKind kind) {
    switch (kind) {
        case ColumnKind::kBytes:
        case ColumnKind::kBytesIfAny:
            return "a size: 4096, 64K, 2GiB";
        case ColumnKind::kTenths:
            return "a share in percent: 90, 99.5";
        case ColumnKind::kAddress:
            return "an address: 0x7f0012345678";
        case ColumnKind::kFlag:
            return "true or false";
        default:
            return "a number";
    }
}

bool compares(Comparison comparison, std::uint64_t number, std::uint64_t value) {
    switch (comparison) {
        case Comparison::kEqual:
            return number == value;
        case Comparison::kUnequal:
            return number != value;
        case Comparison::kLess:
            return number < value;
        case Comparison::kMore:
            return number > value;
        case Comparison::kAtMost:
            return number <= value;
        case Comparison::kAtLeast:
            return number >= value;
        case Comparison::kHas:
            break;
    }
    return false;
}

bool is_order(Comparison comparison) {
    return comparison != Comparison::kHas && comparison != Comparison::kEqual &&
           comparison != Comparison::kUnequal;
}

}  // namespace

FilterText split_filter(std::string_view argument) {
    using Sign = std::pair<std::string_view, Comparison>;
    // Longer signs first.
    constexpr std::array<Sign, 7> kSigns = {{{"!=", Comparison::kUnequal},
                                             {"<=", Comparison::kAtMost},
                                             {">=", Comparison::kAtLeast},
                                             {"=", Comparison::kEqual},
                                             {"<", Comparison::kLess},
                                             {">", Comparison::kMore},
                                             {"~", Comparison::kHas}}};
    const auto* const end = std::ranges::find_if_not(argument, is_column_letter);
    const auto column = argument.substr(0, static_cast<std::size_t>(end - argument.begin()));
    const auto rest = argument.substr(column.size());
    const auto sign_at = std::min(rest.find_first_not_of(' '), rest.size());
    const auto from_sign = rest.substr(sign_at);
    const auto* const sign = std::ranges::find_if(
        kSigns, [from_sign](const Sign& one) { return from_sign.starts_with(one.first); });
    const bool is_name = !column.empty() && !(column.front() >= '0' && column.front() <= '9');
    if (!is_name || sign == kSigns.end()) {
        return {.column = {}, .comparison = Comparison::kHas, .value = argument};
    }
    const auto value = from_sign.substr(sign->first.size());
    return {.column = column,
            .comparison = sign->second,
            .value = sign_at == 0 ? value : trimmed(value)};
}

bool has_pattern(std::string_view text, std::string_view pattern, Case letters) {
    std::size_t from = 0;
    for (;;) {
        const auto star = pattern.find('*');
        const auto part = pattern.substr(0, star);
        const auto found = find_part(text, part, from, letters);
        if (found == std::string_view::npos) {
            return false;
        }
        if (star == std::string_view::npos) {
            return true;
        }
        from = found + part.size();
        pattern.remove_prefix(star + 1);
    }
}

bool text_passes(Comparison comparison, std::string_view text, std::string_view value,
                 Case letters) {
    const auto passes = [&](std::string_view shown) {
        if (comparison == Comparison::kHas) {
            return has_pattern(shown, value, letters);
        }
        const bool equal = letters == Case::kMatters
                               ? shown == value
                               : std::ranges::equal(shown, value, {}, lower_letter, lower_letter);
        return equal == (comparison == Comparison::kEqual);
    };
    const bool as_erlang = passes(text);
    if (!text.starts_with("'Elixir.")) {
        return as_erlang;
    }
    const bool as_elixir = passes(elixir_name(std::string(text)));
    return comparison == Comparison::kUnequal ? as_erlang && as_elixir : as_erlang || as_elixir;
}

Result<RowFilter> RowFilter::parse(std::span<const Column> columns, std::string_view argument) {
    const auto split = split_filter(argument);
    RowFilter filter;
    filter.columns_ = columns;
    filter.comparison_ = split.comparison;
    filter.value_ = split.value;
    if (split.column.empty()) {
        return filter;
    }
    const auto place = column_place(columns, split.column);
    if (place == columns.size()) {
        return fail(ErrorCode::kUsage, unknown_value("field", split.column, column_names(columns)));
    }
    filter.column_ = place;
    const auto kind = columns[place].kind;
    if (split.comparison == Comparison::kHas) {
        return filter;
    }
    const bool texts = is_text(kind) && kind != ColumnKind::kAddress;
    if (is_order(split.comparison) && (texts || kind == ColumnKind::kFlag)) {
        return fail(ErrorCode::kUsage,
                    fmt::format("--filter '{}': {} is {}, which has no order: use =, != or ~",
                                argument, split.column, texts ? "a text" : "true or false"));
    }
    if (texts) {
        return filter;
    }
    const auto number = number_of(kind, split.value);
    if (!number) {
        return fail(ErrorCode::kUsage, fmt::format("--filter '{}': {} is {}", argument,
                                                   split.column, written_as(kind)));
    }
    filter.number_ = *number;
    return filter;
}

bool RowFilter::passes(std::size_t column, const Cell& cell, Case letters) const {
    const auto& of = columns_[column];
    if (std::holds_alternative<std::monostate>(cell)) {
        // No text is an empty one.
        return may_be_none(of.kind) &&
               (of.kind == ColumnKind::kText ? text_passes(comparison_, {}, value_, letters)
                                             : comparison_ == Comparison::kUnequal);
    }
    if (const auto* text = std::get_if<std::string>(&cell)) {
        return text_passes(comparison_, *text, value_, letters);
    }
    if (comparison_ == Comparison::kHas) {
        return has_pattern(cell_text(of, cell), value_, letters);
    }
    const auto* number = std::get_if<std::uint64_t>(&cell);
    const auto* flag = std::get_if<bool>(&cell);
    return compares(comparison_, number != nullptr ? *number : std::uint64_t{*flag}, number_);
}

bool RowFilter::passes(const Row& row, Case letters) const {
    if (column_) {
        return passes(*column_, row[*column_], letters);
    }
    for (std::size_t column = 0; column < row.size(); ++column) {
        if (passes(column, row[column], letters)) {
            return true;
        }
    }
    return false;
}

bool RowFilter::passes_number(std::uint64_t number) const {
    return passes(*column_, Cell(number), Case::kMatters);
}

bool RowFilter::is_anywhere(const Row& row) const {
    if (!column_ || comparison_ != Comparison::kEqual || !is_text(columns_[*column_].kind)) {
        return passes(row, Case::kMatters);
    }
    for (std::size_t column = 0; column < row.size(); ++column) {
        if (has_pattern(cell_text(columns_[column], row[column]), value_, Case::kIgnored)) {
            return true;
        }
    }
    return false;
}

}  // namespace beamdump::query
