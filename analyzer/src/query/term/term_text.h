#pragma once

#include <libdump/base/error.h>
#include <libdump/model/process_context.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/term_scheme.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace beamdump::query {

/// Is given a text in pieces of whole characters; says whether more is wanted.
using TextSink = std::function<bool(std::string_view)>;

/// A term as text, or the beginning of one that is too long to be held.
struct TermText {
    std::string text;
    bool cut = false;  ///< the text goes on, beyond what was asked for
    /// Where `text` is only the beginning of what was asked for: gives what follows, once, and says
    /// whether that is cut. Of DeferredTexts at any time, else only until the next term is asked
    /// for.
    std::function<bool(const TextSink&)> more = {};
};

inline constexpr std::size_t kTextPiece = 16U << 10U;
/// Bytes of one text that are held where what follows can be given in pieces.
inline constexpr std::size_t kHeldText = 64U << 10U;

/// Length of the longest start of `text` that does not end inside a UTF-8 character.
std::size_t whole_characters(const std::string& text);

/// The first `max_bytes` (0: all) of the text that a printer has begun: TermPrinter and the like.
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

/// Drains a text that may be long: `text` has no more than kHeldText bytes, `more` gives what
/// follows. The printer must outlive that, and print nothing else before.
template <typename Printer>
TermText drain_in_pieces(Printer& printer, std::size_t max_bytes) {
    if (max_bytes != 0 && max_bytes <= kHeldText) {
        return drain_text(printer, max_bytes);
    }
    TermText result;
    while (result.text.size() < kHeldText &&
           printer.next(std::min(kTextPiece, kHeldText - result.text.size()), result.text) > 0) {
    }
    if (printer.done()) {
        return result;
    }
    const std::size_t limit = max_bytes == 0 ? std::numeric_limits<std::size_t>::max() : max_bytes;
    std::string part = result.text.substr(whole_characters(result.text));
    result.text.resize(result.text.size() - part.size());
    result.more = [&printer, left = limit - kHeldText,
                   part = std::move(part)](const TextSink& sink) mutable {
        while (left > 0) {
            const std::size_t got = printer.next(std::min(kTextPiece, left), part);
            if (got == 0) {
                break;
            }
            left -= got;
            const std::size_t whole = printer.done() ? part.size() : whole_characters(part);
            if (!sink(std::string_view(part).substr(0, whole))) {
                return true;
            }
            part.erase(0, whole);
        }
        return !printer.done();
    };
    return result;
}

/// The first `max_bytes` of a term's text (0: all of it).
TermText term_text(TermPrinter& printer, std::uint64_t word, std::size_t max_bytes);

/// Whether a term's text is `text`, in the scheme's syntax or in Erlang's: a key that a user names.
/// `printer`: of the same context and scheme.
bool reads_as(TermPrinter& printer, const TagScheme& scheme, std::uint64_t word,
              std::string_view text);

/// Placeholders that a printer put into its texts for what was to be in the dump: binaries that
/// were captured as far as the capture was to copy them do not count.
std::uint64_t placeholders(const PrintStatistics& statistics);

}  // namespace beamdump::query
