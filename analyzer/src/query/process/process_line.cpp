#include "query/process/process_line.h"

#include <libdump/format/process_row.h>
#include <libdump/model/owner_id.h>
#include <libdump/term/atom_text.h>
#include <libdump/term/elixir_text.h>

#include <fmt/format.h>

#include <array>

namespace beamdump::query {

namespace {

std::string named_or_numbered(const AtomText& name, std::uint32_t index) {
    return name ? quoted_atom(*name) : fmt::format("atom#{}", index);
}

constexpr auto kProcessFields = std::to_array<Field<ProcessLine>>({
    field<&ProcessLine::pid>({.name = "pid",
                              .kind = ColumnKind::kTextOfAll,
                              .sentence = "As Erlang prints it: <0.123.0>"}),
    field<&ProcessLine::registered_name>(
        {.name = "registered_name", .sentence = "As Erlang prints it, quoted where it quotes"}),
    field<&ProcessLine::label>(
        {.name = "label",
         .sentence = "Of the dictionary's '$process_label', as the node's language prints it; "
                     "where there is no registered name and the dictionary was read",
         .exported = false,
         .late = true}),
    field<&ProcessLine::process_name>(
        {.name = "process_name",
         .sentence = "RabbitMQ's: of the dictionary's process_name, as the node's language prints "
                     "it; where there is no registered name and the dictionary was read",
         .exported = false,
         .late = true}),
    field<&ProcessLine::initial_call>({.name = "initial_call",
                                       .kind = ColumnKind::kTextOfAll,
                                       .sentence = "module:function/arity"}),
    field<&ProcessLine::translated_initial_call>(
        {.name = "translated_initial_call",
         .sentence = "The function that proc_lib started, as from "
                     "proc_lib:translate_initial_call/1: module:function/arity"}),
    field<&ProcessLine::current_function>({.name = "current_function",
                                           .kind = ColumnKind::kTextOfAll,
                                           .sentence = "module:function/arity"}),
    field<&ProcessLine::status>(
        {.name = "status",
         .kind = ColumnKind::kTextOfAll,
         .one_of = "waiting runnable running suspended garbage_collecting exiting free"}),
    field<&ProcessLine::void_reason>(
        {.name = "void_reason",
         .sentence = "Present if the copy of the process is not consistent"}),
    field<&ProcessLine::memory_bytes>({.name = "memory",
                                       .kind = ColumnKind::kBytes,
                                       .sentence = "Bytes, as process_info(memory) counts"}),
    field<&ProcessLine::reductions>({.name = "reductions",
                                     .kind = ColumnKind::kCount,
                                     .sentence = "Done since the process started"}),
    field<&ProcessLine::message_queue_length>({.name = "message_queue_len",
                                               .kind = ColumnKind::kCount,
                                               .sentence = "Messages in all of its queues"}),
    field<&ProcessLine::total_heap_words>({.name = "total_heap_size",
                                           .kind = ColumnKind::kCount,
                                           .sentence = "Words: heap, old heap and fragments"}),
    field<&ProcessLine::stack_words>(
        {.name = "stack_size", .kind = ColumnKind::kCount, .sentence = "Words"}),
    field<&ProcessLine::links>(
        {.name = "links",
         .kind = ColumnKind::kCount,
         .sentence = "Processes and ports, as process_info(links) lists them"}),
    field<&ProcessLine::monitors>(
        {.name = "monitors",
         .kind = ColumnKind::kCount,
         .sentence = "That the process holds, as process_info(monitors) lists them"}),
    field<&ProcessLine::monitored_by>(
        {.name = "monitored_by",
         .kind = ColumnKind::kCount,
         .sentence = "Monitors on it, as process_info(monitored_by) lists them"}),
    field<&ProcessLine::state>(
        {.name = "state",
         .kind = ColumnKind::kTextOfAll,
         .sentence = "The flags of its state that are set, without priorities, as Internal State "
                     "of a crash dump: ACTIVE | OFF_HEAP_MSGQ; empty: none"}),
    field<&ProcessLine::flags>(
        {.name = "flags",
         .kind = ColumnKind::kTextOfAll,
         .sentence = "Its other flags that are set, as the VM's sources call them: TRAP_EXIT | "
                     "HIBERNATED; empty: none"}),
    field<&ProcessLine::binary_references>(
        {.name = "binary_references",
         .kind = ColumnKind::kCount,
         .sentence = "On request: references to reference-counted binaries, as "
                     "process_info(binary) lists them",
         .exported = false,
         .late = true}),
    field<&ProcessLine::binary_bytes>({.name = "binary_bytes",
                                       .kind = ColumnKind::kBytes,
                                       .sentence = "On request: bytes of these binaries, each once",
                                       .exported = false,
                                       .late = true}),
    field<&ProcessLine::ets_tables>({.name = "ets_tables",
                                     .kind = ColumnKind::kCount,
                                     .sentence = "On request: ETS tables that it owns",
                                     .exported = false,
                                     .late = true}),
    field<&ProcessLine::ets_bytes>(
        {.name = "ets_bytes",
         .kind = ColumnKind::kBytes,
         .sentence = "On request: bytes of these tables, as ets:info(memory) counts",
         .exported = false,
         .late = true}),
    field<&ProcessLine::heap_words>(
        {.name = "heap_size",
         .kind = ColumnKind::kCount,
         .sentence = "On request: words of the block of young heap and stack",
         .exported = false,
         .late = true}),
    field<&ProcessLine::old_heap_words>(
        {.name = "old_heap_size",
         .kind = ColumnKind::kCount,
         .sentence = "On request: words of the block of the old heap",
         .exported = false,
         .late = true}),
    field<&ProcessLine::application>({.name = "application",
                                      .sentence =
                                          "On request: the application that it belongs to, as "
                                          "owner_application of ports has it",
                                      .exported = false,
                                      .late = true}),
});
constexpr auto kProcessColumns = columns_of(kProcessFields);

}  // namespace

std::span<const Field<ProcessLine>> process_fields() {
    return kProcessFields;
}

std::span<const Column> process_columns() {
    return kProcessColumns;
}

Row process_cells(const ProcessLine& line) {
    return row_of(kProcessFields, line);
}

ProcessLine process_of(const CellOf& cell_of) {
    return thing_of(kProcessFields, cell_of);
}

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

std::string flag_text(const Dump& dump, FlagWord word, std::uint64_t bits) {
    return flag_names(word, bits, erts_version(dump.node().erts_version()));
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
    if (row.has_state_bits()) {
        line.state = flag_text(dump, FlagWord::kState, row.state_bits());
    }
    if (row.has_flags()) {
        line.flags = flag_text(dump, FlagWord::kProcess, row.flags());
    }
    line.links = column(records::PROCESS_COLUMN_LINKED);
    line.monitors = column(records::PROCESS_COLUMN_MONITORED);
    line.monitored_by = column(records::PROCESS_COLUMN_MONITORED_BY);
    return line;
}

std::optional<std::string> shown_function(const ProcessLine& line) {
    return line.current_function && line.elixir ? elixir_name(*line.current_function)
                                                : line.current_function;
}

std::optional<std::string> shown_name(const ProcessLine& line) {
    const auto shown = [&line](const std::string& text) {
        return line.elixir ? elixir_name(text) : text;
    };
    if (line.registered_name) {
        return shown(*line.registered_name);
    }
    if (line.label) {
        return line.label;
    }
    if (line.process_name) {
        return line.process_name;
    }
    if (line.translated_initial_call) {
        return shown(*line.translated_initial_call);
    }
    if (line.initial_call) {
        return shown(*line.initial_call);
    }
    return std::nullopt;
}

}  // namespace beamdump::query
