#include <libdump/base/return_if_error.h>
#include <libdump/crash/text/section_scanner.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace beamdump::crash {
namespace {

constexpr std::size_t kStrideBytes = 512;
constexpr std::string_view kDumpBegin = "=erl_crash_dump:";

/// Whether a line that begins with `=` starts in the stride, whose first byte has one before it.
/// Without a branch, so that the compiler makes it many bytes at a time.
[[gnu::always_inline]] inline bool has_section_line(const char* stride) {
    unsigned char found = 0;
    for (std::size_t at = 0; at < kStrideBytes; ++at) {
        found |= static_cast<unsigned char>(stride[at] == '=') &
                 static_cast<unsigned char>(*(stride + at - 1) == '\n');
    }
    return found != 0;
}

/// How many bytes at `text`, whole strides of them, have no such line.
[[gnu::always_inline]] inline std::size_t pass_strides(const char* text, std::size_t strides) {
    std::size_t at = 0;
    while (at < strides && !has_section_line(text + at * kStrideBytes)) {
        ++at;
    }
    return at * kStrideBytes;
}

using PassOver = std::size_t (*)(const char*, std::size_t);

std::size_t pass_over(const char* text, std::size_t strides) {
    return pass_strides(text, strides);
}

#if defined(__x86_64__)
/// The same for processors that take twice as many bytes at a time.
[[gnu::target("avx2")]] std::size_t pass_over_wide(const char* text, std::size_t strides) {
    return pass_strides(text, strides);
}

PassOver chosen() {
    return __builtin_cpu_supports("avx2") != 0 ? pass_over_wide : pass_over;
}
#else
PassOver chosen() {
    return pass_over;
}
#endif

}  // namespace

Result<void> SectionScanner::end_section(std::uint64_t offset) {
    if (!has_section_) {
        leading_ = offset;
        return {};
    }
    std::string_view line = header_;
    // Dumps of Windows end their lines with a carriage return as well.
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    const auto colon = line.find(':');
    Section section;
    section.tag = line.substr(0, colon);
    section.argument =
        colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
    section.begin = begin_;
    section.body = in_header_ ? offset : body_;
    section.end = offset;
    return visit_(section);
}

/// How many bytes of `rest` belong to the section's line, its end included.
std::size_t SectionScanner::take_header(std::string_view rest) {
    const auto end = rest.find('\n');
    const auto text = rest.substr(0, end);
    header_ += text.substr(0, std::min(text.size(), kMaxHeader - header_.size()));
    if (end == std::string_view::npos) {
        return rest.size();
    }
    in_header_ = false;
    return end + 1;
}

void SectionScanner::find_lines(std::string_view piece, std::size_t from,
                                std::vector<std::size_t>& into) {
    // Base64 has `=` at the ends of many lines: only at their beginnings they are rare.
    const auto pass = chosen();
    from = std::max<std::size_t>(from, 1);
    const auto found_before = static_cast<std::ptrdiff_t>(into.size());
    for (auto at = piece.find(kDumpBegin, from); at != std::string_view::npos;
         at = piece.find(kDumpBegin, at + 1)) {
        if (piece[at - 1] != '\n') {
            into.push_back(at);
        }
    }
    const bool in_line = static_cast<std::ptrdiff_t>(into.size()) != found_before;
    while (from < piece.size()) {
        from += pass(piece.data() + from, (piece.size() - from) / kStrideBytes);
        const auto end = std::min(from + kStrideBytes, piece.size());
        for (; from < end; ++from) {
            if (piece[from] == '=' && piece[from - 1] == '\n') {
                into.push_back(from);
            }
        }
    }
    if (in_line) {
        std::sort(into.begin() + found_before, into.end());
    }
}

/// The section before ends, and one begins with the `=` there.
Result<void> SectionScanner::begin_section(std::string_view piece, std::size_t sign) {
    RETURN_IF_ERROR(end_section(seen_ + sign));
    has_section_ = true;
    in_header_ = true;
    header_.clear();
    begin_ = seen_ + sign;
    body_ = seen_ + sign + 1 + take_header(piece.substr(sign + 1));
    return {};
}

Result<void> SectionScanner::feed(std::string_view piece, std::span<const std::size_t> lines) {
    if (piece.empty()) {
        return {};
    }
    if (in_header_) {
        body_ = seen_ + take_header(piece);
    } else if (at_line_start_ && piece.front() == '=') {
        RETURN_IF_ERROR(begin_section(piece, 0));
    }
    for (const auto sign : lines) {
        RETURN_IF_ERROR(begin_section(piece, sign));
    }
    at_line_start_ = !in_header_ && piece.back() == '\n';
    seen_ += piece.size();
    return {};
}

Result<void> SectionScanner::feed(std::string_view piece) {
    std::vector<std::size_t> lines;
    find_lines(piece, 0, lines);
    return feed(piece, lines);
}

Result<void> SectionScanner::finish() {
    return end_section(seen_);
}

}  // namespace beamdump::crash
