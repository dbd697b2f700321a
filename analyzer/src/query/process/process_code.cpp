#include "query/process/process_code.h"

#include <libdump/term/process_stack.h>

#include <optional>

namespace beamdump::query {

namespace {

/// DEFAULT_BACKTRACE_SIZE (erl_vm.h, OTP 25.2.3).
constexpr std::size_t kBacktraceDepth = 8;

std::optional<CodeLine> code_line(Dump& dump, std::uint64_t address) {
    const auto location = dump.code_at(address);
    if (!location || !location->function) {
        return std::nullopt;
    }
    CodeLine line{function_text(dump, *location->function), std::nullopt, std::nullopt};
    if (location->file && location->line) {
        line.file = location->file;
        line.line = location->line;
    }
    return line;
}

}  // namespace

// As current_stacktrace() and gather_stacktrace() of OTP 25.2.3: repeated addresses are skipped,
// and those without a function count, but are not shown. Frame pointers are skipped.
Excerpt<CodeLine> current_stacktrace(Dump& dump, OpenedProcess& process) {
    Excerpt<CodeLine> trace;
    const auto stack = process.stack();
    std::size_t depth = 0;
    const auto add = [&](std::uint64_t address) {
        ++depth;
        if (auto line = code_line(dump, address)) {
            trace.items.push_back(std::move(*line));
        }
    };
    if (stack.instruction != 0) {
        add(stack.instruction);
    }
    auto previous = stack.instruction;
    StackWalk walk(process.context(), process.scheme, stack);
    while (depth < kBacktraceDepth) {
        const auto entry = walk.next();
        if (!entry || entry->kind == StackEntry::Kind::kMissing) {
            break;
        }
        const bool frame_pointer =
            entry->word == 0 || (entry->address < entry->word && entry->word < stack.bottom);
        if (entry->kind == StackEntry::Kind::kReturnAddress && !frame_pointer &&
            entry->word != previous) {
            previous = entry->word;
            // Minus one: a call may be the last instruction of its line.
            add(entry->word - 1);
        }
    }
    trace.total = trace.items.size();
    return trace;
}

}  // namespace beamdump::query
