#include <libdump/crash/section_scanner.h>

#include <algorithm>

namespace beamdump::crash {

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
        // `=` is rare but at the start of a line: base64 has it, at the ends of some.
        const auto sign = piece.find('=', next);
        if (sign == std::string_view::npos) {
            break;
        }
        const bool starts_line = sign == 0 ? at_line_start_ : piece[sign - 1] == '\n';
        next = sign + 1;
        if (!starts_line) {
            continue;
        }
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
