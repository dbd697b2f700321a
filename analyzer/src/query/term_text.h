#pragma once

#include <libdump/base/error.h>
#include <libdump/model/process_context.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/term_scheme.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace beamdump::query {

/// A term as text, of bounded length.
struct TermText {
    std::string text;
    bool cut = false;  ///< the text goes on, beyond what was asked for
};

/// Length of the longest start of `text` that does not end inside a UTF-8 character.
std::size_t whole_characters(const std::string& text);

/// The scheme that the dump's node tags its words by.
Result<TagScheme> node_scheme(const Dump& dump);

/// The first `max_bytes` (0: all) of the text that a printer has begun: TermPrinter and its kin.
template <typename Printer>
TermText drain_text(Printer& printer, std::size_t max_bytes) {
    constexpr std::size_t kStep = 16384;
    const std::size_t limit = max_bytes == 0 ? std::numeric_limits<std::size_t>::max() : max_bytes;
    TermText result;
    while (result.text.size() < limit &&
           printer.next(std::min(kStep, limit - result.text.size()), result.text) > 0) {
    }
    result.cut = !printer.done();
    if (result.cut) {
        result.text.resize(whole_characters(result.text));
    }
    return result;
}

/// The first `max_bytes` of a term's text (0: all of it).
TermText term_text(TermPrinter& printer, std::uint64_t word, std::size_t max_bytes);

/// Placeholders of all kinds that a printer put into its texts.
std::uint64_t placeholders(const PrintStatistics& statistics);

}  // namespace beamdump::query
