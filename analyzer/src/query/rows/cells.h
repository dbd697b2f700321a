#pragma once

#include "query/rows/row_list.h"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace beamdump::query {

inline Cell cell(std::string text) {
    return text;
}
inline Cell cell(bool flag) {
    return flag;
}
template <std::unsigned_integral Number>
    requires(!std::same_as<Number, bool>)
Cell cell(Number number) {
    return std::uint64_t{number};
}
/// Absent where negative: the columns count.
inline Cell cell(std::int64_t number) {
    return number < 0 ? Cell() : Cell(static_cast<std::uint64_t>(number));
}
template <typename Value>
Cell cell(const std::optional<Value>& value) {
    return value ? cell(*value) : Cell();
}

}  // namespace beamdump::query
