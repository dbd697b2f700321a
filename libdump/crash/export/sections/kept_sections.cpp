#include <libdump/crash/export/sections/kept_sections.h>
#include <libdump/crash/export/sections/node_sections.h>

#include <string>
#include <string_view>

namespace beamdump::crash {

namespace {

constexpr std::string_view kHead = "erl_crash_dump";

/// Whether sections with that tag are made from records.
bool is_of_records(std::string_view tag) {
    return tag.starts_with("proc") || tag == "binary" || tag == "literals" || tag == "end" ||
           tag == kHead;
}

class Writer {
  public:
    explicit Writer(TextOutput& out) : out_(out) {}

    void section(const records::CrashSection& section, bool first) {
        const bool is_head = first && section.tag() == kHead && !section.continues();
        if (!section.continues()) {
            shown_ = is_head || !is_of_records(section.tag());
        }
        if (!shown_) {
            return;
        }
        if (is_head) {
            title(kHead, kTextVersion);
        } else if (!section.continues()) {
            title(section.tag(), section.argument());
        }
        lines(section.lines());
    }

    /// A new line begins here.
    void end() {
        if (!at_line_start_) {
            out_.put('\n');
            at_line_start_ = true;
        }
    }

  private:
    void title(std::string_view tag, std::string_view argument) {
        end();
        out_.put('=');
        out_.put(first_line(tag));
        if (!argument.empty()) {
            out_.put(':');
            out_.put(first_line(argument));
        }
        out_.put('\n');
    }

    static std::string_view first_line(std::string_view text) {
        return text.substr(0, text.find_first_of("\r\n"));
    }

    void lines(std::string_view text) {
        while (!text.empty()) {
            if (at_line_start_ && text.front() == '=') {
                out_.put(' ');
            }
            const auto end = text.find('\n');
            const auto line = text.substr(0, end == std::string_view::npos ? end : end + 1);
            out_.put(line);
            at_line_start_ = line.ends_with('\n');
            text.remove_prefix(line.size());
        }
    }

    TextOutput& out_;
    bool at_line_start_ = true;
    bool shown_ = false;
};

}  // namespace

bool has_kept_sections(const Dump& dump) {
    return dump.trailer().crash_sections_offset_size() != 0;
}

Result<void> write_kept_sections(Dump& dump, TextOutput& out) {
    Writer writer(out);
    bool first = true;
    for (const std::uint64_t offset : dump.trailer().crash_sections_offset()) {
        auto page = dump.reader().message_at<records::CrashSections>(
            offset, format::RecordKind::kCrashSections);
        if (!page) {
            return wrap("reading sections", std::move(page.error()));
        }
        for (const auto& section : page->section()) {
            if (first && section.tag() != kHead) {
                write_head(dump, "", out);
            }
            writer.section(section, first);
            first = false;
        }
    }
    writer.end();
    return {};
}

}  // namespace beamdump::crash
