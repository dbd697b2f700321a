#pragma once

#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <string>

namespace beamdump::query {

/// One process as every list shows it. What the dump does not say is absent, never 0.
struct ProcessLine {
    std::string pid;
    std::optional<std::string> registered_name;
    std::optional<std::string> initial_call;             ///< module:function/arity
    std::optional<std::string> translated_initial_call;  ///< as proc_lib keeps it
    std::optional<std::string> current_function;
    std::optional<std::string> status;       ///< in process_info's words
    std::optional<std::string> void_reason;  ///< set where the copy of its heap is no good
    std::optional<std::uint64_t> memory_bytes;
    std::optional<std::uint64_t> reductions;
    std::optional<std::uint64_t> message_queue_length;
    std::optional<std::uint64_t> total_heap_words;  ///< heap, old heap and fragments
    std::optional<std::uint64_t> stack_words;
};

ProcessLine process_line(Dump& dump, const records::ProcessRow& row);

/// `module:function/arity`, quoted where Erlang quotes; nothing unless all three are known. An atom
/// that the dump lacks reads as its index: `atom#123`.
std::optional<std::string> mfa_text(Dump& dump, const records::Mfa& mfa);
std::string function_text(Dump& dump, const FunctionName& function);

/// An atom as Erlang prints it.
std::string atom_text(Dump& dump, std::uint32_t index);

/// process_info's word for a status; nothing for an unknown one.
std::optional<std::string> status_text(records::ProcessStatus status);

/// Why a process's copy is void: "running", "garbage_collecting"...; nothing if it is good.
std::optional<std::string> void_reason_text(records::VoidReason reason);

}  // namespace beamdump::query
