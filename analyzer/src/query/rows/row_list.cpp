#include "query/rows/row_list.h"

#include "query/rows/choice.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <compare>

namespace beamdump::query {

namespace {

std::strong_ordering order(const Cell& one, const Cell& other, bool reversed) {
    if (one.index() != other.index()) {
        // Cells of one column differ in kind only where one is absent.
        return std::holds_alternative<std::monostate>(one) ? std::strong_ordering::greater
                                                           : std::strong_ordering::less;
    }
    if (reversed) {
        return order(other, one, false);
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

std::string_view next_name(std::string_view& names) {
    const auto comma = names.find(',');
    const auto name = names.substr(0, comma);
    names.remove_prefix(comma == std::string_view::npos ? names.size() : comma + 1);
    return name;
}

}  // namespace

Result<void> RowList::parse_sort() {
    std::string_view rest = sort_;
    do {
        auto name = next_name(rest);
        const bool reversed = name.starts_with('-');
        name.remove_prefix(reversed ? 1 : 0);
        const auto column = column_place(columns_, name);
        if (column == columns_.size()) {
            return fail(ErrorCode::kUsage,
                        unknown_value("sort order", name, column_names(columns_)));
        }
        // Names, numbers that are names, and places ascend.
        const auto kind = columns_[column].kind;
        const bool ascends = kind == ColumnKind::kId || kind == ColumnKind::kAddress;
        sort_keys_.push_back({column, reversed != ascends});
    } while (!rest.empty());
    kept_ = FirstItems<Kept, Order>(limit_, Order{sort_keys_});
    return {};
}

Result<void> RowList::choose_columns(std::string_view names) {
    for (std::size_t column = 0; names.empty() && column < columns_.size(); ++column) {
        if (!columns_[column].title.empty()) {
            shown_.push_back(column);
        }
    }
    while (!names.empty()) {
        const auto name = next_name(names);
        const auto column = column_place(columns_, name);
        if (column == columns_.size()) {
            return fail(ErrorCode::kUsage, unknown_value("column", name, column_names(columns_)));
        }
        shown_.push_back(column);
    }
    return {};
}

Result<RowList> RowList::make(std::span<const Column> columns, const RowQuery& query) {
    RowList list(columns, query);
    RETURN_IF_ERROR(list.parse_sort());
    RETURN_IF_ERROR(list.choose_columns(query.columns));
    if (!query.counted_by.empty()) {
        list.counted_by_ = column_place(columns, query.counted_by);
    }
    for (const std::string& name : query.group_by) {
        const auto column = column_place(columns, name);
        if (column == columns.size()) {
            return fail(ErrorCode::kUsage, unknown_value("field", name, column_names(columns)));
        }
        list.group_by_.push_back(column);
    }
    for (const std::string& text : query.filters) {
        ASSIGN_OR_RETURN(auto filter, RowFilter::parse(columns, text));
        list.filters_.push_back(std::move(filter));
    }
    list.derives_ = query.derived;
    list.any_ = query.any;
    list.holds_ = query.derived && list.needs_derived();
    return list;
}

bool RowList::matches(const Row& row, Case letters) const {
    return std::ranges::all_of(
        filters_, [&](const RowFilter& filter) { return filter.passes(row, letters); });
}

bool RowList::Order::operator()(const Kept& one, const Kept& other) const {
    for (const auto& key : keys) {
        const auto by_column = order(one.row[key.column], other.row[key.column], key.reversed);
        if (by_column != 0) {
            return by_column < 0;
        }
    }
    return one.number < other.number;
}

bool RowList::needs_derived() const {
    const auto waits = [](const Column& column) { return column.derived || column.late; };
    const auto is_derived = [&](std::size_t column) { return waits(columns_[column]); };
    return std::ranges::any_of(sort_keys_, is_derived, &SortKey::column) ||
           std::ranges::any_of(group_by_, is_derived) ||
           std::ranges::any_of(filters_, [&](const RowFilter& filter) {
               return filter.column() ? is_derived(*filter.column())
                                      : std::ranges::any_of(columns_, waits);
           });
}

Result<void> RowList::derive(const Derive& fill) {
    if (!derives_) {
        return {};
    }
    std::vector<Row*> rows;
    if (!holds_) {
        rows.reserve(kept_.items().size());
        for (Kept& kept : kept_.items()) {
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
        if (budget_ != nullptr) {
            uncount(row);
        }
        place(std::move(row));
    }
    held_.clear();
    return {};
}

void RowList::add(Row row) {
    if (out_of_memory()) {
        return;
    }
    if (holds_) {
        if (budget_ != nullptr) {
            count(row);
        }
        held_.push_back(std::move(row));
    } else {
        place(std::move(row));
    }
}

void RowList::add_sums(const Row& row, Sums& sums) const {
    for (std::size_t column = 0; column < row.size(); ++column) {
        const auto* number = std::get_if<std::uint64_t>(&row[column]);
        auto& sum = sums[column];
        sum = sum && number != nullptr ? std::optional(*sum + *number) : std::nullopt;
    }
}

std::optional<std::uint64_t> RowList::sum_of_all(std::string_view column) const {
    return sums_of_all_[column_place(columns_, column)];
}

std::optional<std::uint64_t> RowList::sum_of_matching(std::string_view column) const {
    return sums_of_matching_[column_place(columns_, column)];
}

void RowList::place(Row row) {
    ++total_;
    add_sums(row, sums_of_all_);
    for (std::size_t column = 0; column < row.size(); ++column) {
        if (!std::holds_alternative<std::monostate>(row[column])) {
            told_[column] = true;
        }
    }
    if (!matches(row, Case::kMatters)) {
        // This matters only where nothing matches.
        if (matching_ == 0) {
            in_other_case_ += matches(row, Case::kIgnored) ? 1 : 0;
            anywhere_ +=
                std::ranges::all_of(
                    filters_, [&row](const RowFilter& filter) { return filter.is_anywhere(row); })
                    ? 1
                    : 0;
        }
        return;
    }
    add_sums(row, sums_of_matching_);
    if (counted_by_) {
        ++counts_[cell_text(row[*counted_by_])];
    }
    if (!group_by_.empty()) {
        ++matching_;
        add_to_group(row);
        return;
    }
    if (budget_ == nullptr) {
        kept_.add({std::move(row), matching_++});
        return;
    }
    count(row);
    if (const auto dropped = kept_.add({std::move(row), matching_++})) {
        uncount(dropped->row);
    }
}

void RowList::count(const Row& row) {
    const auto bytes = row_bytes(row);
    bytes_ += bytes;
    budget_->use_memory(bytes);
}

void RowList::uncount(const Row& row) {
    const auto bytes = row_bytes(row);
    bytes_ -= bytes;
    budget_->give_memory(bytes);
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
        if (number != nullptr && is_amount(columns_[column].kind)) {
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
    const auto sort = sort_keys_.front();
    const bool by_sum = sort_ != default_sort && is_amount(columns_[sort.column].kind);
    std::ranges::stable_sort(groups, [&](const RowGroup& one, const RowGroup& other) {
        return by_sum ? order(one.sums[sort.column], other.sums[sort.column], sort.reversed) < 0
                      : one.count > other.count;
    });
    if (limit_ != 0 && groups.size() > limit_) {
        groups.resize(limit_);
    }
    return groups;
}

Result<void> RowList::check_asked(std::string_view things, std::string_view default_sort) const {
    const auto is_unknown = [this](std::size_t column) {
        return total_ != 0 && !told_[column] && !may_be_none(columns_[column].kind);
    };
    const auto refuse = [&](std::string_view what, std::size_t column) {
        return fail(ErrorCode::kNotFound,
                    fmt::format("{} cannot be {} by {}: the dump does not tell it of any of them",
                                things, what, columns_[column].name));
    };
    if (sort_ != default_sort) {
        for (const auto& key : sort_keys_) {
            if (is_unknown(key.column)) {
                return refuse("sorted", key.column);
            }
        }
    }
    for (const auto& filter : filters_) {
        if (filter.column() && is_unknown(*filter.column())) {
            return refuse("filtered", *filter.column());
        }
    }
    return {};
}

std::vector<Row> RowList::take() {
    auto kept = kept_.take();
    std::vector<Row> rows(kept.size());
    std::ranges::transform(kept, rows.begin(), [](Kept& one) { return std::move(one.row); });
    return rows;
}

}  // namespace beamdump::query
