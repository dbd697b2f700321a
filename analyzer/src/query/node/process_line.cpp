#include "query/node/process_line.h"

#include <libdump/format/process_row.h>
#include <libdump/model/owner_id.h>
#include <libdump/term/atom_text.h>

#include <fmt/format.h>

namespace beamdump::query {

namespace {

std::string named_or_numbered(const AtomText& name, std::uint32_t index) {
    return name ? quoted_atom(*name) : fmt::format("atom#{}", index);
}

}  // namespace

std::string atom_text(Dump& dump, std::uint32_t index) {
    return named_or_numbered(dump.atoms().text(index), index);
}

std::string atom_text(TermContext& context, std::uint32_t index) {
    return named_or_numbered(context.atom(index), index);
}

std::string function_text(Dump& dump, const FunctionName& function) {
    return fmt::format("{}:{}/{}", atom_text(dump, function.module_atom),
                       atom_text(dump, function.function_atom), function.arity);
}

std::optional<std::string> mfa_text(Dump& dump, const records::Mfa& mfa) {
    if (!mfa.has_module_atom() || !mfa.has_function_atom() || !mfa.has_arity()) {
        return std::nullopt;
    }
    return function_text(dump, {mfa.module_atom(), mfa.function_atom(), mfa.arity()});
}

std::optional<std::string> status_text(records::ProcessStatus status) {
    return status == records::PROCESS_STATUS_UNKNOWN
               ? std::nullopt
               : std::optional(std::string(status_name(status)));
}

std::optional<std::string> void_reason_text(records::VoidReason reason) {
    switch (reason) {
        case records::VOID_REASON_NONE:
            return std::nullopt;
        case records::VOID_REASON_RUNNING:
            return "running";
        case records::VOID_REASON_COLLECTING:
            return "garbage_collecting";
        case records::VOID_REASON_EXITING:
            return "exiting";
        case records::VOID_REASON_LOCKED:
            return "locked";
        case records::VOID_REASON_CHANGED:
            return "changed";
        case records::VOID_REASON_UNREADABLE:
            return "unreadable";
        case records::VOID_REASON_LEFT_OUT:
            return "left_out";
        case records::VOID_REASON_IMPLAUSIBLE:
            return "implausible";
        case records::VOID_REASON_LIMIT:
            return "limit";
        default:
            return "unknown";
    }
}

ProcessLine process_line(Dump& dump, const records::ProcessRow& row) {
    const auto column = [&row](records::ProcessColumnKind kind) { return column_value(row, kind); };
    ProcessLine line;
    line.pid = pid_text(row.owner_id());
    if (row.has_registered_name_atom()) {
        line.registered_name = atom_text(dump, row.registered_name_atom());
    }
    line.initial_call = mfa_text(dump, row.initial_call());
    line.translated_initial_call = mfa_text(dump, row.translated_initial_call());
    line.current_function = mfa_text(dump, row.current_function());
    line.status = status_text(row.status());
    line.void_reason = void_reason_text(row.void_reason());
    line.memory_bytes = column(records::PROCESS_COLUMN_MEMORY_BYTES);
    line.reductions = column(records::PROCESS_COLUMN_REDUCTIONS);
    line.message_queue_length = column(records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH);
    line.total_heap_words = column(records::PROCESS_COLUMN_HEAP_WORDS);
    line.stack_words = column(records::PROCESS_COLUMN_STACK_WORDS);
    return line;
}

}  // namespace beamdump::query
