#pragma once

#include "render/output.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::render {

enum class Align : std::uint8_t { kLeft, kRight };

/// Rows of text in columns, two spaces apart, as wide as their widest cell.
class Table {
  public:
    /// Without a title: none is printed if no column has one.
    struct Column {
        std::string title;
        Align align = Align::kLeft;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// One cell a column.
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

    /// Every line begins with `indent`.
    void print(Output& output, std::string_view indent = "") const;

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// Characters of UTF-8 text, as far as they are well-formed.
std::size_t text_width(std::string_view text);

/// Text that fits one line of a terminal and is UTF-8: control characters and bytes that are not
/// UTF-8 stand as \x1B.
std::string one_line(std::string_view text);

}  // namespace beamdump::render
