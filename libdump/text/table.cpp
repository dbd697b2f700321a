#include <libdump/text/table.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump {

std::size_t text_width(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string cut_text(std::string_view text, std::size_t width) {
    constexpr std::string_view kCut = "...";
    if (text_width(text) <= width) {
        return std::string(text);
    }
    const std::size_t kept = width - std::min(width, kCut.size());
    std::size_t end = 0;
    for (std::size_t characters = 0; end < text.size(); ++end) {
        const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
        if (begins && characters++ == kept) {
            break;
        }
    }
    return std::string(text.substr(0, end)) + std::string(kCut.substr(0, width - kept));
}

void print_line(Output& output, std::string_view line) {
    const auto width = output.line_width();
    output.print("{}\n", width ? cut_text(line, *width) : line);
}

void print_title(Output& output, std::string_view title) {
    output.write("\n");
    output.write(Style::kTitle, title);
    output.write("\n");
}

std::vector<std::size_t> Table::widths(std::optional<std::size_t> line_width,
                                       std::size_t indent) const {
    constexpr std::size_t kBetween = 2;
    constexpr std::size_t kNarrowest = 10;
    constexpr std::size_t kNameWidth = 40;
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t width = text_width(columns_[i].title);
        for (const auto& row : rows_) {
            if (line_width || !row[i].rest) {
                width = std::max(width, text_width(row[i].text));
            }
        }
        widths.push_back(line_width && columns_[i].shrinks ? std::min(width, *line_width) : width);
    }
    if (!line_width) {
        return widths;
    }
    std::size_t total = indent + (widths.empty() ? 0 : (widths.size() - 1) * kBetween);
    for (const std::size_t width : widths) {
        total += width;
    }
    const auto names = static_cast<std::size_t>(
        std::ranges::find(columns_, true, &Column::shrinks) - columns_.begin());
    const auto shrink = [&](std::size_t least_of_names) {
        for (; total > *line_width; --total) {
            std::size_t* widest = nullptr;
            for (std::size_t i = 0; i < columns_.size(); ++i) {
                if (columns_[i].shrinks && widths[i] > (i == names ? least_of_names : kNarrowest) &&
                    (widest == nullptr || widths[i] >= *widest)) {
                    widest = &widths[i];
                }
            }
            if (widest == nullptr) {
                break;
            }
            --*widest;
        }
    };
    shrink(kNameWidth);
    shrink(kNarrowest);
    return widths;
}

void Table::add(std::vector<std::string> row) {
    auto& cells = rows_.emplace_back();
    for (std::string& text : row) {
        cells.push_back({std::move(text)});
    }
}

/// Writes a row with streamed cells, which are never in memory as a whole.
void Table::print_long_row(Output& output, std::string_view indent, const std::vector<Cell>& row,
                           const std::vector<std::size_t>& widths) const {
    output.write(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
        const auto& [text, rest] = row[i];
        const auto width = text_width(text);
        const std::string padding(rest || width > widths[i] ? 0 : widths[i] - width, ' ');
        const bool right = columns_[i].align == Align::kRight;
        output.print("{}{}{}", i == 0 ? "" : "  ", right ? padding : "", text);
        if (rest) {
            rest(output);
        } else if (!right && i + 1 < row.size()) {
            output.write(padding);
        }
    }
    output.write("\n");
}

void Table::print(Output& output, std::string_view indent) const {
    print_rows(output, indent, output.line_width());
}

void Table::print_rows(Output& output, std::string_view indent,
                       std::optional<std::size_t> line_width) const {
    const auto widths = this->widths(line_width, indent.size());
    const auto row_line = [&](const auto& cell) {
        std::string line(indent);
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const std::string text = cut_text(cell(i), widths[i]);
            const std::string padding(widths[i] - text_width(text), ' ');
            line += i == 0 ? "" : "  ";
            line += columns_[i].align == Align::kRight ? padding + text : text + padding;
        }
        line.resize(line.find_last_not_of(' ') + 1);
        return line_width ? cut_text(line, *line_width) : line;
    };
    if (std::ranges::any_of(columns_, [](const Column& one) { return !one.title.empty(); })) {
        output.write(Style::kTitle, row_line([this](std::size_t i) -> const std::string& {
                         return columns_[i].title;
                     }));
        output.write("\n");
    }
    for (const auto& row : rows_) {
        if (!line_width && std::ranges::any_of(row, [](const Cell& one) { return !!one.rest; })) {
            print_long_row(output, indent, row, widths);
        } else {
            output.print("{}\n", row_line([&row](std::size_t i) {
                             return row[i].text + (row[i].rest ? "..." : "");
                         }));
        }
    }
}

}  // namespace beamdump
