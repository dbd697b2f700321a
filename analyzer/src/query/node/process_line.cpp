#include "query/node/process_line.h"

#include <libdump/format/process_row.h>
#include <libdump/model/owner_id.h>
#include <libdump/term/atom_text.h>
#include <libdump/term/elixir_text.h>

#include <fmt/format.h>

namespace beamdump::query {

namespace {

std::string named_or_numbered(const AtomText& name, std::uint32_t index) {
    return name ? quoted_atom(*name) : fmt::format("atom#{}", index);
}

/// `'Elixir.Shop.Cart'` as `Shop.Cart`, `'Elixir.Shop.Cart':init/1` as `Shop.Cart.init/1`; any
/// other text as it is.
std::string in_elixir(const std::string& text) {
    const auto end = text.starts_with('\'') ? text.find('\'', 1) : std::string::npos;
    if (end == std::string::npos) {
        return text;
    }
    const auto module = text.substr(1, end - 1);
    if (!is_elixir_alias(module)) {
        return text;
    }
    if (end + 1 == text.size()) {
        return elixir_atom(module);
    }
    const auto arity = text.rfind('/');
    if (text[end + 1] != ':' || arity == std::string::npos) {
        return text;
    }
    const auto function = unquoted_atom(text.substr(end + 2, arity - end - 2));
    return fmt::format("{}.{}{}", elixir_atom(module), elixir_function(function),
                       text.substr(arity));
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

std::optional<ShownName> shown_name(const ProcessLine& line) {
    const auto shown = [&line](const std::string& text) {
        return line.elixir ? in_elixir(text) : text;
    };
    if (line.registered_name) {
        return ShownName{shown(*line.registered_name), "registered_name"};
    }
    if (line.label) {
        return ShownName{*line.label, "label"};
    }
    if (line.process_name) {
        return ShownName{*line.process_name, "process_name"};
    }
    if (line.translated_initial_call) {
        return ShownName{shown(*line.translated_initial_call), "translated_initial_call"};
    }
    if (line.initial_call) {
        return ShownName{shown(*line.initial_call), "initial_call"};
    }
    return std::nullopt;
}

}  // namespace beamdump::query
