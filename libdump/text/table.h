#pragma once

#include <libdump/base/terminal_text.h>
#include <libdump/text/output.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump {

enum class Align : std::uint8_t { kLeft, kRight };

/// Rows of text in columns, two spaces apart, as wide as their widest cell. With
/// Output::fit_terminal(), shrinkable columns shrink, the first of them last, for it has the names
/// that tell rows apart; and lines that are still too long are cut with "...".
class Table {
  public:
    /// No heading is printed if no column has a title.
    struct Column {
        std::string title;
        Align align = Align::kLeft;
        bool shrinks = false;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// A cell, followed by the text that `rest` writes, if set. That text has any length and does
    /// not widen the column.
    struct Cell {
        std::string text;
        std::function<void(Output&)> rest = {};
    };

    /// One cell a column.
    void add(std::vector<std::string> row);
    void add_cells(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

    /// Every line begins with `indent`.
    void print(Output& output, std::string_view indent = "") const;
    /// Without regard to the terminal's width.
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

/// Number of characters of UTF-8 text.
std::size_t text_width(std::string_view text);

/// One line; cut where the output fits its terminal.
void print_line(Output& output, std::string_view line);

/// The title of a section, after an empty line.
void print_title(Output& output, std::string_view title);

/// Text cut to that width, with "..." at its end.
std::string cut_text(std::string_view text, std::size_t width);

}  // namespace beamdump
