#include "query/term/term_text.h"

namespace beamdump::query {

std::size_t whole_characters(const std::string& text) {
    std::size_t length = text.size();
    for (std::size_t back = 1; back <= 4 && back <= length; ++back) {
        const auto byte = static_cast<unsigned char>(text[length - back]);
        if ((byte & 0xC0U) != 0x80U) {
            const std::size_t wanted = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
            return back < wanted ? length - back : length;
        }
    }
    return length;
}

TermText term_text(TermPrinter& printer, std::uint64_t word, std::size_t max_bytes) {
    printer.start(word);
    return drain_text(printer, max_bytes);
}

bool reads_as(TermPrinter& printer, const TagScheme& scheme, std::uint64_t word,
              std::string_view text) {
    const auto reads = [&](TermPrinter& with) {
        const TermText own = term_text(with, word, text.size() + 1);
        return !own.cut && own.text == text;
    };
    if (reads(printer)) {
        return true;
    }
    if (scheme.style.syntax == TermSyntax::kErlang) {
        return false;
    }
    TermPrinter erlang(printer.context(), without_style(scheme));
    return reads(erlang);
}

std::uint64_t placeholders(const PrintStatistics& statistics) {
    return statistics.malformed + statistics.absent + statistics.lost_binaries;
}

}  // namespace beamdump::query
