#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/records/other_sections.h>
#include <libdump/crash/text/text_pieces.h>

#include <algorithm>
#include <string>

namespace beamdump::crash {
namespace {

constexpr std::size_t kPieceBytes = 64U << 10U;
constexpr std::size_t kSectionPageBytes = 96U << 10U;

class SectionPages {
  public:
    SectionPages(const TextSource& text, DumpWriter& writer, records::Trailer& trailer)
        : text_(text), writer_(writer), trailer_(trailer) {}

    /// All sections of a part of the text.
    Result<void> add(Span part) {
        SectionScanner scanner(
            [this, part](const Section& section) { return add(section, part.begin); });
        return scan_sections(text_, part, scanner);
    }

    Result<void> flush() {
        if (page_.section_size() == 0) {
            return {};
        }
        ASSIGN_OR_RETURN(auto offset, writer_.append(format::RecordKind::kCrashSections, page_));
        trailer_.add_crash_sections_offset(offset);
        page_.Clear();
        page_bytes_ = 0;
        return {};
    }

  private:
    /// `start`: where the text began that the section's offsets count from.
    Result<void> add(const Section& section, std::uint64_t start) {
        auto at = start + section.body;
        const auto end = start + section.end;
        bool continues = false;
        do {
            ASSIGN_OR_RETURN(auto lines, piece(at, end));
            constexpr std::size_t kEntryBytes = 16;
            page_bytes_ +=
                section.tag.size() + section.argument.size() + lines.size() + kEntryBytes;
            at += lines.size();
            const bool more = !lines.empty() && at < end;
            auto& entry = *page_.add_section();
            entry.set_tag(std::string(section.tag));
            entry.set_argument(std::string(section.argument));
            entry.set_lines(std::move(lines));
            if (continues) {
                entry.set_continues(true);
            }
            if (page_bytes_ >= kSectionPageBytes) {
                RETURN_IF_ERROR(flush());
            }
            continues = more;
        } while (continues);
        return {};
    }

    /// The next lines, complete unless one is longer than a piece.
    Result<std::string> piece(std::uint64_t at, std::uint64_t end) {
        std::string lines(std::min<std::uint64_t>(kPieceBytes, end - std::min(at, end)), '\0');
        ASSIGN_OR_RETURN(auto got, text_.read(at, lines));
        lines.resize(got);
        if (at + lines.size() < end) {
            if (const auto last = lines.rfind('\n'); last != std::string::npos) {
                lines.resize(last + 1);
            }
        }
        return lines;
    }

    const TextSource& text_;
    DumpWriter& writer_;
    records::Trailer& trailer_;
    records::CrashSections page_;
    std::size_t page_bytes_ = 0;
};

}  // namespace

Result<void> write_other_sections(const CrashDump& dump, DumpWriter& writer,
                                  records::Trailer& trailer) {
    SectionPages pages(dump.text(), writer, trailer);
    for (const auto& part : dump.other_sections()) {
        RETURN_IF_ERROR(pages.add(part));
    }
    return pages.flush();
}

}  // namespace beamdump::crash
