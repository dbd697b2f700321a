#include <libdump/crash/section_scanner.h>

#include <algorithm>
#include <cstddef>

namespace beamdump::crash {
namespace {

constexpr std::size_t kStrideBytes = 512;

/// Whether a line that begins with `=` starts in the stride, whose first byte has one before it.
/// Without a branch, so that the compiler makes it many bytes at a time.
bool has_section_line(const char* stride) {
    unsigned char found = 0;
    for (std::size_t at = 0; at < kStrideBytes; ++at) {
        found |= static_cast<unsigned char>(stride[at] == '=') &
                 static_cast<unsigned char>(*(stride + at - 1) == '\n');
    }
    return found != 0;
}

/// Where the next `=` stands that begins a line, from `from` on, which is not the first byte.
/// Base64 has others, at the ends of many lines.
std::size_t find_section_line(std::string_view text, std::size_t from) {
    while (from < text.size()) {
        while (from + kStrideBytes <= text.size() && !has_section_line(text.data() + from)) {
            from += kStrideBytes;
        }
        const auto end = std::min(from + kStrideBytes, text.size());
        for (; from < end; ++from) {
            if (text[from] == '=' && text[from - 1] == '\n') {
                return from;
            }
        }
    }
    return std::string_view::npos;
}

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
    header_ += text.substr(0, std::min(text.size(), kMostHeader - header_.size()));
    if (end == std::string_view::npos) {
        return rest.size();
    }
    in_header_ = false;
    at_line_start_ = true;
    return end + 1;
}

Result<void> SectionScanner::feed(std::string_view piece) {
    std::size_t next = 0;
    while (next < piece.size()) {
        if (in_header_) {
            next += take_header(piece.substr(next));
            body_ = seen_ + next;
            continue;
        }
        const bool at_once = next == 0 && at_line_start_ && piece.front() == '=';
        const auto sign = at_once ? 0 : find_section_line(piece, std::max<std::size_t>(next, 1));
        if (sign == std::string_view::npos) {
            break;
        }
        next = sign + 1;
        if (auto done = end_section(seen_ + sign); !done) {
            return done;
        }
        has_section_ = true;
        in_header_ = true;
        header_.clear();
        begin_ = seen_ + sign;
    }
    if (!piece.empty()) {
        at_line_start_ = !in_header_ && piece.back() == '\n';
        seen_ += piece.size();
    }
    return {};
}

Result<void> SectionScanner::finish() {
    return end_section(seen_);
}

}  // namespace beamdump::crash
