#include <libdump/crash/text/section_lines.h>

#include <algorithm>
#include <cctype>

namespace beamdump::crash {
namespace {

constexpr std::size_t kLongestSectionLine = 4U << 20U;

/// The words before a colon.
std::optional<std::string_view> name_of(std::string_view line) {
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos || colon == 0) {
        return std::nullopt;
    }
    const auto name = line.substr(0, colon);
    const bool words = std::ranges::all_of(name, [](unsigned char letter) {
        constexpr std::string_view kAlso = " _-/()%+#.[]";
        return std::isalnum(letter) != 0 || kAlso.find(static_cast<char>(letter)) != kAlso.npos;
    });
    return words ? std::optional(name) : std::nullopt;
}

}  // namespace

void SectionLines::add(std::string_view piece) {
    while (!piece.empty()) {
        const auto end = piece.find('\n');
        line_ += piece.substr(0, end);
        if (end == std::string_view::npos) {
            if (line_.size() >= kLongestSectionLine) {
                finish();
            }
            return;
        }
        finish();
        piece.remove_prefix(end + 1);
    }
}

void SectionLines::finish() {
    if (line_.ends_with('\r')) {
        line_.pop_back();
    }
    if (!line_.empty()) {
        const std::string_view text = line_;
        const auto name = name_of(text);
        visit_({text, name, name ? text.substr(name->size() + 2) : text});
    }
    line_.clear();
}

}  // namespace beamdump::crash
