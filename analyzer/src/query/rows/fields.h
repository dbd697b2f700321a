#pragma once

#include "query/rows/cells.h"
#include "query/rows/column.h"

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace beamdump::query {

/// A cell whose text is in the thing.
using CellView = std::variant<std::monostate, bool, std::uint64_t, std::string_view>;

/// A field of a kind of thing, declared once: its column, and where the value is. Lists, JSON,
/// exports, what is read back of them, and the JSON Schema come from it.
template <typename Thing>
struct Field {
    Column column;
    Cell (*get)(const Thing& thing) = nullptr;
    /// What `get` gives, without a copy; null for what is computed.
    CellView (*view)(const Thing& thing) = nullptr;
    /// Null for what is computed. An absent cell leaves the thing as it is.
    void (*set)(Thing& thing, const Cell& cell) = nullptr;
};

inline CellView view_of(const Cell& cell) {
    return std::visit([](const auto& value) { return CellView(value); }, cell);
}

namespace field_detail {

template <typename Thing, typename Value>
Thing thing_of(Value Thing::*);

template <typename Value>
struct Held {
    using Type = Value;
};
template <typename Value>
struct Held<std::optional<Value>> {
    using Type = Value;
};

template <typename Value>
CellView view_of(const Value& value) {
    if constexpr (std::is_same_v<Value, std::string>) {
        return std::string_view(value);
    } else if constexpr (std::is_same_v<Value, bool>) {
        return value;
    } else {
        return std::uint64_t{value};
    }
}
template <typename Value>
CellView view_of(const std::optional<Value>& value) {
    return value ? view_of(*value) : CellView();
}

template <typename Value>
void set_value(Value& value, const Cell& cell) {
    using Type = typename Held<Value>::Type;
    if constexpr (std::is_same_v<Type, std::string> || std::is_same_v<Type, bool>) {
        if (const auto* known = std::get_if<Type>(&cell)) {
            value = *known;
        }
    } else if (const auto* number = std::get_if<std::uint64_t>(&cell)) {
        value = static_cast<Type>(*number);
    }
}

}  // namespace field_detail

/// A member of a thing as a field: a text, a flag or a number, perhaps an optional one.
template <auto kMember>
constexpr auto field(Column column) {
    using Thing = decltype(field_detail::thing_of(kMember));
    return Field<Thing>{
        .column = column,
        .get = [](const Thing& thing) { return cell(thing.*kMember); },
        .view = [](const Thing& thing) { return field_detail::view_of(thing.*kMember); },
        .set = [](Thing& thing,
                  const Cell& cell) { field_detail::set_value(thing.*kMember, cell); }};
}

/// What is computed of a thing.
template <typename Thing>
constexpr Field<Thing> computed(Column column, Cell (*get)(const Thing& thing)) {
    return {.column = column, .get = get};
}

/// The columns of fields, in their order.
template <typename Thing, std::size_t kCount>
constexpr std::array<Column, kCount> columns_of(const std::array<Field<Thing>, kCount>& fields) {
    std::array<Column, kCount> columns{};
    for (std::size_t at = 0; at < kCount; ++at) {
        columns[at] = fields[at].column;
    }
    return columns;
}

/// The cells of a thing, but for derived columns, which are absent.
template <typename Thing, std::size_t kCount>
Row row_of(const std::array<Field<Thing>, kCount>& fields, const Thing& thing) {
    Row row(kCount);
    for (std::size_t at = 0; at < kCount; ++at) {
        if (!fields[at].column.derived) {
            row[at] = fields[at].get(thing);
        }
    }
    return row;
}

/// The thing that has these cells, one for each field.
template <typename Thing, std::size_t kCount>
Thing thing_of(const std::array<Field<Thing>, kCount>& fields, const Row& row) {
    Thing thing;
    for (std::size_t at = 0; at < kCount; ++at) {
        if (fields[at].set != nullptr) {
            fields[at].set(thing, row[at]);
        }
    }
    return thing;
}

/// The cell of a column, wherever it is kept.
using CellOf = std::function<Cell(const Column& column)>;

/// The thing that has these cells.
template <typename Thing, std::size_t kCount>
Thing thing_of(const std::array<Field<Thing>, kCount>& fields, const CellOf& cell_of) {
    Thing thing;
    for (const auto& field : fields) {
        if (field.set != nullptr) {
            field.set(thing, cell_of(field.column));
        }
    }
    return thing;
}

}  // namespace beamdump::query
