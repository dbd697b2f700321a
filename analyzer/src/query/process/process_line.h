#pragma once

#include "query/rows/fields.h"

#include <libdump/format/process_flags.h>
#include <libdump/model/dump.h>
#include <libdump/term/term_context.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace beamdump::query {

/// One process as every list shows it. Unknown facts are absent, never 0.
struct ProcessLine {
    std::string pid;
    std::optional<std::string> registered_name;
    std::optional<std::string> initial_call;             ///< module:function/arity
    std::optional<std::string> translated_initial_call;  ///< from proc_lib
    std::optional<std::string> current_function;
    std::optional<std::string> status;       ///< as process_info(status)
    std::optional<std::string> void_reason;  ///< set if the copy of its heap is void
    std::optional<std::uint64_t> memory_bytes;
    std::optional<std::uint64_t> reductions;
    std::optional<std::uint64_t> message_queue_length;
    std::optional<std::uint64_t> total_heap_words;  ///< heap, old heap and fragments
    std::optional<std::uint64_t> stack_words;
    // flag_names() of ERTS_PSFLG_* and of F_* in the node's release; empty: none is set.
    std::optional<std::string> state;
    std::optional<std::string> flags;
    // As process_info counts them.
    std::optional<std::uint64_t> links;
    std::optional<std::uint64_t> monitors;  ///< that it holds
    std::optional<std::uint64_t> monitored_by;
    // Where a list was asked for them (query/processes/process_values.h).
    std::optional<std::uint64_t> binary_references;  ///< entries of process_info(binary)
    std::optional<std::uint64_t> binary_bytes;       ///< of these binaries, each once
    std::optional<std::uint64_t> ets_tables;         ///< that it owns
    std::optional<std::uint64_t> ets_bytes;
    std::optional<std::uint64_t> heap_words;      ///< the block of the young heap and the stack
    std::optional<std::uint64_t> old_heap_words;  ///< the block
    std::optional<std::string> application;       ///< as Erlang prints its name
    // What the dictionary of a process without a registered name says, where it was read
    // (query/process/process_names.h).
    std::optional<std::string> label;         ///< '$process_label', as a term's text
    std::optional<std::string> process_name;  ///< RabbitMQ's entry of that name
    /// The node runs Elixir, and a name above is an alias of it.
    bool elixir = false;
};

/// Of a column for the application of a process.
inline constexpr std::string_view kApplicationSentence =
    "The application that the process belongs to, by its group leader; absent where that is no "
    "application's master, and in crash dumps";

ProcessLine process_line(Dump& dump, const records::ProcessRow& row);

/// The fields that JSON and exports have, in their order.
std::span<const Field<ProcessLine>> process_fields();
std::span<const Column> process_columns();
/// The cells of a process in these columns.
Row process_cells(const ProcessLine& line);
/// The process that has these cells.
ProcessLine process_of(const CellOf& cell_of);

/// What tables call a process. The one rule for it: its registered name, else its label, else
/// RabbitMQ's process_name, else the initial call. Aliases of an Elixir node are as Elixir writes
/// them: `Shop.Cart`, `Shop.Cart.init/1`.
std::optional<std::string> shown_name(const ProcessLine& line);
/// The current function in texts, as the node's language writes it.
std::optional<std::string> shown_function(const ProcessLine& line);

/// `module:function/arity`, quoted like Erlang; nullopt unless all three are known. An atom that
/// the dump lacks is shown by its index: `atom#123`.
std::optional<std::string> mfa_text(Dump& dump, const records::Mfa& mfa);
std::string function_text(Dump& dump, const FunctionName& function);

/// An atom as Erlang prints it.
std::string atom_text(Dump& dump, std::uint32_t index);
/// An atom in a process's terms, as Erlang prints it: of a crash dump, the atom table lacks those
/// of lines that are read when their words are asked for.
std::string atom_text(TermContext& context, std::uint32_t index);

/// A status as process_info names it; nullopt for an unknown one.
std::optional<std::string> status_text(records::ProcessStatus status);

/// flag_names() in the node's release.
std::string flag_text(const Dump& dump, FlagWord word, std::uint64_t bits);

/// Why a process's copy is void: "running", "garbage_collecting"...; nullopt if it is consistent.
std::optional<std::string> void_reason_text(records::VoidReason reason);

}  // namespace beamdump::query
