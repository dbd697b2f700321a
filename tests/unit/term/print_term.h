#pragma once

#include "support/fake_term_context.h"

#include <libdump/term/term_printer.h>

#include <string>

namespace beamdump::testing {

/// A whole text, taken in pieces of `chunk` bytes.
inline std::string print_with(TermPrinter& printer, std::uint64_t word, std::size_t chunk) {
    std::string text;
    printer.start(word);
    while (printer.next(chunk, text) != 0) {
    }
    return text;
}

inline std::string print(TermContext& context, std::uint64_t word,
                         std::int64_t limit = kNoTermLimit, std::size_t chunk = 1U << 20U) {
    TermPrinter printer(context, otp25_scheme(), limit);
    return print_with(printer, word, chunk);
}

}  // namespace beamdump::testing
