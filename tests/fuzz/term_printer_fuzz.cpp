// Prints terms in both syntaxes, in one line and laid out, and a backtrace from random words: must
// end, within bounds, whatever the words say.
//
// Input: 8 bytes of chunk size, budget and (two highest bits) term scheme, then the words of one
// region at kRegion. Words whose top byte is 0xFF are turned into pointers into the region, so that
// structure comes up by chance.

#include "support/fake_term_context.h"

#include <libdump/term/backtrace_cursor.h>
#include <libdump/term/frame_cursor.h>
#include <libdump/term/term_layout.h>
#include <libdump/term/term_printer.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace beamdump;
using namespace beamdump::testing;

constexpr std::uint64_t kRegion = TermBuilder::kHeap;
constexpr std::size_t kMaxText = 1U << 16U;

constexpr std::array kSchemes = {format::TermScheme::kOtp25, format::TermScheme::kOtp29,
                                 format::TermScheme::kOtp27, format::TermScheme::kOtp29};

/// Shared structure may be printed again and again: no text is followed to its end.
template <typename Producer>
void drain(Producer& producer, std::size_t chunk) {
    std::string text;
    for (std::size_t total = 0; total < kMaxText;) {
        text.clear();
        const std::size_t got = producer.next(chunk, text);
        if (got > chunk || got != text.size() || (got == 0 && !producer.done())) {
            std::abort();
        }
        if (got == 0) {
            return;
        }
        total += got;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 16) {
        return 0;
    }
    std::uint64_t control = 0;
    std::memcpy(&control, data, 8);
    std::vector<std::uint64_t> words((size - 8) / 8);
    std::memcpy(words.data(), data + 8, words.size() * 8);
    for (auto& word : words) {
        if (word >> 56U == 0xFFU) {
            word = kRegion + (word >> 2U & 0xFFFU) % words.size() * 8 + (word & 3U);
        }
    }
    FakeTermContext context;
    context.intern("atom");
    context.intern("an atom");
    context.add_region(kRegion, words);
    context.binaries[kRegion] = {
        .info = {.data_address = kRegion, .size_bytes = 100, .captured_bytes = 60, .references = 1},
        .bytes = std::string(60, 'x')};
    context.funs[kRegion] = {.module_atom = 0, .index = 1, .old_uniq = 2, .arity = 3};
    context.nodes[kRegion] = {.name_atom = 1, .creation = 2, .is_self = false};

    const TagScheme scheme = *scheme_of(kSchemes.at(control >> 62U));
    const std::size_t chunk = 1 + control % 5000;
    const bool classic = (control >> 32U) % 2 != 0;
    const std::int64_t limit = classic ? kClassicTermLimit : kNoTermLimit;
    const ProcessStack stack{.instruction = words[0],
                             .top = kRegion,
                             .bottom = kRegion + words.size() * 8 + (control >> 40U) % 64};

    TermPrinter printer(context, scheme, limit);
    printer.start(words[0]);
    drain(printer, chunk);
    TagScheme elixir = scheme;
    elixir.style.syntax = TermSyntax::kElixir;
    TermPrinter other(context, elixir);
    other.start(words[0]);
    drain(other, chunk);
    other.start(words[0]);
    LaidOutText lines(other, 1 + control % 100);
    drain(lines, chunk);
    BacktraceCursor backtrace(context, scheme, stack, limit);
    drain(backtrace, chunk);
    FrameCursor frames(context, scheme, stack);
    while (frames.next()) {
    }
    return 0;
}
