#pragma once

#include <libdump/base/error.h>
#include <libdump/model/process_context.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/term_scheme.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace beamdump::query {

/// A term as text, of bounded length.
struct TermText {
    std::string text;
    bool cut = false;  ///< the text goes on, beyond what was asked for
};

/// The scheme that the dump's node tags its words by.
Result<TagScheme> node_scheme(const Dump& dump);

/// The first `max_bytes` of a term's text (0: all of it).
TermText term_text(TermPrinter& printer, std::uint64_t word, std::size_t max_bytes);

/// Placeholders of all kinds that a printer put into its texts.
std::uint64_t placeholders(const PrintStatistics& statistics);

}  // namespace beamdump::query
