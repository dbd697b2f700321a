// Reads any bytes as a crash dump's text: makes a dump of it, and asks that for everything.

#include "support/memory_file.h"
#include "support/memory_sink.h"

#include <libdump/crash/import/convert.h>
#include <libdump/crash/open/lazy_process_context.h>
#include <libdump/model/dump.h>
#include <libdump/model/messages.h>
#include <libdump/term/backtrace_cursor.h>
#include <libdump/term/term_printer.h>

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <span>

namespace {

using namespace beamdump;

// A term may be printed without end where pointers make a circle of what is no list.
constexpr std::size_t kMaxText = 64U << 10U;

void exhaust(Dump& dump, const records::ProcessRow& row, const TagScheme& scheme) {
    const auto run = ProcessRun::load(dump.reader(), row);
    if (!run) {
        std::abort();  // what convert() writes can be read
    }
    const auto context = dump.context_of(*run);
    std::string text;
    BacktraceCursor stack(*context, scheme,
                          {run->process.instruction_address(), run->process.stack_top_address(),
                           run->process.heap_end_address()});
    while (text.size() < kMaxText && stack.next(kMaxText, text) > 0) {
    }
    TermPrinter printer(*context, scheme);
    MessageWalker messages(dump.reader(), *run);
    messages.seek(0);
    for (auto message = messages.next(); message && *message != nullptr;
         message = messages.next()) {
        text.clear();
        printer.start((*message)->term_word());
        while (text.size() < kMaxText && printer.next(kMaxText, text) > 0) {
        }
    }
}

/// Asks what is made of the text about each of its processes, one row after the other.
void ask(const crash::CrashDump& crash, const crash::ConvertChoice& choice) {
    const auto content = std::make_shared<test::SinkContent>();
    const auto outcome = crash::convert(crash, std::make_unique<test::MemorySink>(content), choice);
    if (!outcome) {
        std::abort();  // any text can be converted, as far as it makes sense
    }
    const test::MemoryFile made(content->bytes);
    const auto dump = Dump::open(made.path());
    if (!dump) {
        std::abort();
    }
    crash::supply_lazily(**dump, outcome->lazy_terms.get());
    const auto scheme = scheme_of(static_cast<format::TermScheme>((*dump)->node().term_scheme()));
    for (std::uint64_t index = 0; scheme && index < (*dump)->processes().size(); ++index) {
        const auto rows = (*dump)->processes().rows(std::span(&index, 1));
        if (!rows) {
            std::abort();
        }
        exhaust(**dump, rows->front(), *scheme);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const test::MemoryFile text(std::as_bytes(std::span(data, size)));
    const auto crash = crash::CrashDump::open(text.path(), {});
    if (!crash) {
        return 0;
    }
    ask(*crash, {});
    // The first process that has a heap: its lines are read when they are asked for.
    for (const auto& process : crash->processes()) {
        if (process.heap) {
            crash::ConvertChoice lazy;
            lazy.heaps = crash::ConvertChoice::Heaps::kOne;
            lazy.lazily_from = 0;
            lazy.process =
                fmt::format("<0.{}.{}>", process.owner_id & 0xFFFF'FFFFU, process.owner_id >> 32U);
            ask(*crash, lazy);
            break;
        }
    }
    return 0;
}
