#pragma once

#include "render/shared/output.h"

#include <libdump/base/terminal_text.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::render {

enum class Align : std::uint8_t { kLeft, kRight };

/// Rows of text in columns, two spaces apart, as wide as their widest cell. Where the output fits
/// its terminal (Output::fit_terminal()), columns that may shrink do, and what is still too long is
/// cut at its end; "..." represents what is cut.
class Table {
  public:
    /// Without a title: none is printed if no column has one.
    struct Column {
        std::string title;
        Align align = Align::kLeft;
        bool shrinks = false;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// A cell whose text goes on where `rest` is there: it writes what follows. Such a text is as
    /// long as it is, its column no wider for it.
    struct Cell {
        std::string text;
        std::function<void(Output&)> rest = {};
    };

    /// One cell a column.
    void add(std::vector<std::string> row);
    void add_cells(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

    /// Every line begins with `indent`.
    void print(Output& output, std::string_view indent = "") const;
    /// Whatever the terminal's width.
    void print_whole(Output& output) const { print_rows(output, "", std::nullopt); }

  private:
    void print_rows(Output& output, std::string_view indent,
                    std::optional<std::size_t> line_width) const;
    void print_long_row(Output& output, std::string_view indent, const std::vector<Cell>& row,
                        const std::vector<std::size_t>& widths) const;
    [[nodiscard]] std::vector<std::size_t> widths(std::optional<std::size_t> line_width,
                                                  std::size_t indent) const;

    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

/// Characters of UTF-8 text, as far as they are well-formed.
std::size_t text_width(std::string_view text);

/// One line; cut where the output fits its terminal.
void print_line(Output& output, std::string_view line);

/// Text of at most that width; "..." at its end represents what was cut.
std::string cut_text(std::string_view text, std::size_t width);

using beamdump::one_line;

}  // namespace beamdump::render
