#include "query/rows/row_list.h"

#include "query/node/choice.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <compare>

namespace beamdump::query {

namespace {

bool is_column_letter(char c) {
    return (c >= 'a' && c <= 'z') || c == '_';
}

char lower_letter(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::vector<std::string_view> names_of(std::span<const Column> columns) {
    std::vector<std::string_view> names(columns.size());
    std::ranges::transform(columns, names.begin(), &Column::name);
    return names;
}

std::strong_ordering order(const Cell& one, const Cell& other) {
    if (one.index() != other.index()) {
        // Cells of one column differ in kind only where one is absent.
        return std::holds_alternative<std::monostate>(one) ? std::strong_ordering::greater
                                                           : std::strong_ordering::less;
    }
    if (const auto* text = std::get_if<std::string>(&one)) {
        return *text <=> std::get<std::string>(other);
    }
    if (const auto* number = std::get_if<std::uint64_t>(&one)) {
        return std::get<std::uint64_t>(other) <=> *number;
    }
    if (const auto* flag = std::get_if<bool>(&one)) {
        return std::get<bool>(other) <=> *flag;
    }
    return std::strong_ordering::equal;
}

bool is_amount(const Column& column) {
    return column.kind == ColumnKind::kCount || column.kind == ColumnKind::kCountIfAny ||
           column.kind == ColumnKind::kBytes || column.kind == ColumnKind::kBytesIfAny;
}

}  // namespace

std::size_t column_place(std::span<const Column> columns, std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(columns, name, &Column::name) -
                                    columns.begin());
}

std::string cell_text(const Cell& cell) {
    if (const auto* text = std::get_if<std::string>(&cell)) {
        return *text;
    }
    if (const auto* number = std::get_if<std::uint64_t>(&cell)) {
        return std::to_string(*number);
    }
    if (const auto* flag = std::get_if<bool>(&cell)) {
        return *flag ? "true" : "false";
    }
    return {};
}

Result<RowList> RowList::make(std::span<const Column> columns, const RowQuery& query) {
    const auto sort = column_place(columns, query.sort);
    if (sort == columns.size()) {
        return fail(ErrorCode::kUsage, unknown_value("sort order", query.sort, names_of(columns)));
    }
    RowList list(columns, sort, query.limit);
    if (!query.counted_by.empty()) {
        list.counted_by_ = column_place(columns, query.counted_by);
    }
    for (const std::string& name : query.group_by) {
        const auto column = column_place(columns, name);
        if (column == columns.size()) {
            return fail(ErrorCode::kUsage, unknown_value("field", name, names_of(columns)));
        }
        list.group_by_.push_back(column);
    }
    for (const std::string& text : query.filters) {
        const auto equals = text.find('=');
        const auto name = std::string_view(text).substr(0, equals);
        if (equals == std::string::npos || name.empty() ||
            !std::ranges::all_of(name, is_column_letter)) {
            list.filters_.push_back({columns.size(), text});
            continue;
        }
        const auto column = column_place(columns, name);
        if (column == columns.size()) {
            return fail(ErrorCode::kUsage, unknown_value("field", name, names_of(columns)));
        }
        list.filters_.push_back({column, text.substr(equals + 1)});
    }
    list.derives_ = query.derived;
    list.holds_ = query.derived && list.needs_derived();
    return list;
}

bool RowList::matches(const Row& row, Case letters) const {
    const auto has = [letters](const Cell& cell, const std::string& text) {
        const auto shown = cell_text(cell);
        return letters == Case::kMatters
                   ? shown.contains(text)
                   : !std::ranges::search(shown, text, {}, lower_letter, lower_letter).empty();
    };
    return std::ranges::all_of(filters_, [&](const Filter& filter) {
        return filter.column < row.size()
                   ? has(row[filter.column], filter.text)
                   : std::ranges::any_of(
                         row, [&](const Cell& cell) { return has(cell, filter.text); });
    });
}

bool RowList::before(const Kept& one, const Kept& other) const {
    const auto by_column = order(one.row[sort_], other.row[sort_]);
    return by_column != 0 ? by_column < 0 : one.number < other.number;
}

void RowList::cut() {
    const auto middle = kept_.begin() + static_cast<std::ptrdiff_t>(limit_);
    std::ranges::nth_element(
        kept_, middle, [this](const Kept& one, const Kept& other) { return before(one, other); });
    kept_.erase(middle, kept_.end());
}

bool RowList::needs_derived() const {
    const auto is_derived = [this](std::size_t column) {
        return column == columns_.size()
                   ? std::ranges::any_of(columns_, &Column::derived)  // a filter of any field
                   : columns_[column].derived;
    };
    return is_derived(sort_) || std::ranges::any_of(group_by_, is_derived) ||
           std::ranges::any_of(filters_, is_derived, &Filter::column);
}

Result<void> RowList::derive(const Derive& fill) {
    if (!derives_) {
        return {};
    }
    std::vector<Row*> rows;
    if (!holds_) {
        if (limit_ != 0 && kept_.size() > limit_) {
            cut();
        }
        rows.reserve(kept_.size());
        for (Kept& kept : kept_) {
            rows.push_back(&kept.row);
        }
        return fill(rows);
    }
    rows.reserve(held_.size());
    for (Row& row : held_) {
        rows.push_back(&row);
    }
    RETURN_IF_ERROR(fill(rows));
    for (Row& row : held_) {
        place(std::move(row));
    }
    held_.clear();
    return {};
}

void RowList::add(Row row) {
    if (holds_) {
        held_.push_back(std::move(row));
    } else {
        place(std::move(row));
    }
}

void RowList::place(Row row) {
    ++total_;
    for (std::size_t column = 0; column < row.size(); ++column) {
        if (!std::holds_alternative<std::monostate>(row[column])) {
            told_[column] = true;
        }
    }
    if (!matches(row, Case::kMatters)) {
        // Of interest only where nothing matches.
        in_other_case_ += matching_ == 0 && matches(row, Case::kIgnored) ? 1 : 0;
        return;
    }
    if (counted_by_) {
        ++counts_[cell_text(row[*counted_by_])];
    }
    if (!group_by_.empty()) {
        ++matching_;
        add_to_group(row);
        return;
    }
    kept_.push_back({std::move(row), matching_++});
    if (limit_ != 0 && kept_.size() / 2 >= limit_) {
        cut();
    }
}

void RowList::add_to_group(const Row& row) {
    Row values;
    for (const auto column : group_by_) {
        values.push_back(row[column]);
    }
    auto& group = groups_[values];
    if (group.count++ == 0) {
        group.values = std::move(values);
        group.sums.resize(columns_.size());
    }
    for (std::size_t column = 0; column < row.size(); ++column) {
        const auto* number = std::get_if<std::uint64_t>(&row[column]);
        if (number != nullptr && is_amount(columns_[column])) {
            const auto* sum = std::get_if<std::uint64_t>(&group.sums[column]);
            group.sums[column] = (sum == nullptr ? 0 : *sum) + *number;
        }
    }
}

std::vector<RowGroup> RowList::take_groups(std::string_view default_sort) {
    std::vector<RowGroup> groups;
    groups.reserve(groups_.size());
    for (auto& [values, group] : groups_) {
        groups.push_back(std::move(group));
    }
    groups_.clear();
    const bool by_sum = columns_[sort_].name != default_sort && is_amount(columns_[sort_]);
    std::ranges::stable_sort(groups, [&](const RowGroup& one, const RowGroup& other) {
        return by_sum ? order(one.sums[sort_], other.sums[sort_]) < 0 : one.count > other.count;
    });
    if (limit_ != 0 && groups.size() > limit_) {
        groups.resize(limit_);
    }
    return groups;
}

Result<void> RowList::check_asked(std::string_view things, std::string_view default_sort) const {
    const auto is_unknown = [this](std::size_t column) {
        const auto kind = columns_[column].kind;
        return total_ != 0 && !told_[column] &&
               (kind == ColumnKind::kCount || kind == ColumnKind::kSpan ||
                kind == ColumnKind::kBytes || kind == ColumnKind::kFlag);
    };
    const auto refuse = [&](std::string_view what, std::size_t column) {
        return fail(ErrorCode::kNotFound,
                    fmt::format("{} cannot be {} by {}: the dump does not tell it of any of them",
                                things, what, columns_[column].name));
    };
    if (columns_[sort_].name != default_sort && is_unknown(sort_)) {
        return refuse("sorted", sort_);
    }
    for (const auto& filter : filters_) {
        if (filter.column < columns_.size() && is_unknown(filter.column)) {
            return refuse("filtered", filter.column);
        }
    }
    return {};
}

std::vector<Row> RowList::take() {
    if (limit_ != 0 && kept_.size() > limit_) {
        cut();
    }
    std::ranges::sort(kept_,
                      [this](const Kept& one, const Kept& other) { return before(one, other); });
    std::vector<Row> rows;
    rows.reserve(kept_.size());
    for (Kept& kept : kept_) {
        rows.push_back(std::move(kept.row));
    }
    kept_.clear();
    return rows;
}

}  // namespace beamdump::query
