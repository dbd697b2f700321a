#include "render/table.h"

#include "render/utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::render {

std::size_t text_width(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string one_line(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const auto first = static_cast<unsigned char>(text.front());
        if (length == 0 || first < 0x20 || first == 0x7F) {
            result += fmt::format("\\x{:02X}", first);
            text.remove_prefix(1);
        } else {
            result += text.substr(0, length);
            text.remove_prefix(length);
        }
    }
    return result;
}

void Table::print(Output& output, std::string_view indent) const {
    std::vector<std::size_t> widths;
    bool titled = false;
    for (const Column& column : columns_) {
        widths.push_back(text_width(column.title));
        titled = titled || !column.title.empty();
    }
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], text_width(row[i]));
        }
    }
    const auto print_row = [&](const auto& cell) {
        std::string line(indent);
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const std::string& text = cell(i);
            const std::string padding(widths[i] - text_width(text), ' ');
            line += i == 0 ? "" : "  ";
            line += columns_[i].align == Align::kRight ? padding + text : text + padding;
        }
        line.resize(line.find_last_not_of(' ') + 1);
        output.print("{}\n", line);
    };
    if (titled) {
        print_row([this](std::size_t i) -> const std::string& { return columns_[i].title; });
    }
    for (const auto& row : rows_) {
        print_row([&row](std::size_t i) -> const std::string& { return row[i]; });
    }
}

}  // namespace beamdump::render
