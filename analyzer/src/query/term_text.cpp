#include "query/term_text.h"

#include <limits>

namespace beamdump::query {

namespace {

/// Length of the longest start of `text` that does not end inside a UTF-8 character.
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

}  // namespace

Result<TagScheme> node_scheme(const Dump& dump) {
    return scheme_of(static_cast<format::TermScheme>(dump.node().term_scheme()));
}

TermText term_text(TermPrinter& printer, std::uint64_t word, std::size_t max_bytes) {
    constexpr std::size_t kStep = 16384;
    const std::size_t limit = max_bytes == 0 ? std::numeric_limits<std::size_t>::max() : max_bytes;
    TermText result;
    printer.start(word);
    while (result.text.size() < limit &&
           printer.next(std::min(kStep, limit - result.text.size()), result.text) > 0) {
    }
    result.cut = !printer.done();
    if (result.cut) {
        result.text.resize(whole_characters(result.text));
    }
    return result;
}

std::uint64_t placeholders(const PrintStatistics& statistics) {
    return statistics.malformed + statistics.absent + statistics.partial_binaries;
}

}  // namespace beamdump::query
