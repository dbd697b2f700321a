#include "query/node/process_facts.h"

#include <fmt/format.h>

#include <utility>

namespace beamdump::query {

namespace {

// max_heap_size holds flags under the size in words: two in OTP 25, three in 27 (erl_process.h).
constexpr unsigned kMaxHeapFlagBits = 2;
constexpr std::uint64_t kMaxHeapKill = 1;
constexpr std::uint64_t kMaxHeapLog = 2;
constexpr std::uint64_t kMaxHeapWithBinaries = 4;

/// Adds the known facts.
class Group {
  public:
    explicit Group(std::string name) { group_.name = std::move(name); }

    Group& text(std::string name, const std::optional<std::string>& value) {
        if (value) {
            group_.facts.push_back({std::move(name), *value});
        }
        return *this;
    }
    Group& flag(std::string name, bool has, bool value) {
        if (has) {
            group_.facts.push_back({std::move(name), value});
        }
        return *this;
    }
    Group& number(std::string name, bool has, std::uint64_t value,
                  FactUnit unit = FactUnit::kNone) {
        if (has) {
            group_.facts.push_back({std::move(name), value, unit});
        }
        return *this;
    }
    Group& words(std::string name, bool has, std::uint64_t value) {
        return number(std::move(name), has, value, FactUnit::kWords);
    }
    /// An address; the runtime has 0 for none.
    Group& address(std::string name, std::uint64_t value) {
        return number(std::move(name), value != 0, value, FactUnit::kAddress);
    }
    FactGroup take() { return std::move(group_); }

  private:
    FactGroup group_;
};

std::optional<std::string> location_text(Dump& dump, const records::Process& process) {
    if (!process.has_instruction_address()) {
        return std::nullopt;
    }
    const auto location = dump.code_at(process.instruction_address());
    if (!location || !location->file || !location->line) {
        return std::nullopt;
    }
    return fmt::format("{}:{}", *location->file, *location->line);
}

/// A module; the VM has none for a process that has not set one.
std::optional<std::string> error_handler_text(const records::Process& process,
                                              TermPrinter& printer) {
    constexpr std::size_t kLongestAtom = 2000;
    if (!process.has_error_handler_word()) {
        return std::nullopt;
    }
    return process.error_handler_word() == 0
               ? "error_handler"
               : term_text(printer, process.error_handler_word(), kLongestAtom).text;
}

FactGroup identity(Dump& dump, const ProcessRun& run, TermPrinter& printer,
                   const DictionaryMarks& marks) {
    const records::Process& process = run.process;
    const auto term = [&printer](bool has, std::uint64_t word) -> std::optional<std::string> {
        constexpr std::size_t kLongestId = 100;
        return has ? std::optional(term_text(printer, word, kLongestId).text) : std::nullopt;
    };
    Group group("identity");
    if (process.has_registered_name_atom()) {
        group.text("registered_name", atom_text(dump, process.registered_name_atom()));
    }
    return group.text("initial_call", mfa_text(dump, process.initial_call()))
        .text("translated_initial_call", marks.initial_call
                                             ? marks.initial_call
                                             : mfa_text(dump, process.translated_initial_call()))
        .text("label", marks.label)
        .text("process_name", marks.process_name)
        .text("group_leader", term(process.has_group_leader_word(), process.group_leader_word()))
        .text("parent", term(process.has_parent_word(), process.parent_word()))
        .text("error_handler", error_handler_text(process, printer))
        .number("unique", process.has_unique(), process.unique())
        .address("struct_address", process.struct_address())
        .take();
}

FactGroup state(Dump& dump, const ProcessRun& run, TermPrinter& printer) {
    const records::Process& process = run.process;
    const auto known = [](bool has, const std::string& text) {
        return has ? std::optional(text) : std::nullopt;
    };
    constexpr std::size_t kLongestToken = 1000;
    std::optional<std::string> trace_token;
    if (process.has_sequential_trace_token_word() && !run.is_void()) {
        trace_token = term_text(printer, process.sequential_trace_token_word(), kLongestToken).text;
    }
    return Group("state")
        .text("status", known(process.has_status(), process.status()))
        .text("current_function", mfa_text(dump, process.current_function()))
        .text("current_location", location_text(dump, process))
        .address("instruction_address", process.instruction_address())
        .text("priority", known(process.has_priority(), process.priority()))
        .number("reductions", process.has_reductions(), process.reductions())
        .flag("trap_exit", process.has_trap_exit(), process.trap_exit())
        .flag("sensitive", process.has_sensitive(), process.sensitive())
        .flag("hibernated", process.has_hibernated(), process.hibernated())
        .number("catchlevel", process.has_catches(), static_cast<std::uint64_t>(process.catches()))
        .text("sequential_trace_token", trace_token)
        .number("suspend_count", process.has_suspend_count(), process.suspend_count())
        .number("state_bits", process.has_state_bits(), process.state_bits(), FactUnit::kBits)
        .number("flags", process.has_flags(), process.flags(), FactUnit::kBits)
        .number("trace_flags", process.has_trace_flags(), process.trace_flags(), FactUnit::kBits)
        .take();
}

FactGroup memory(const ProcessRun& run) {
    const records::Process& process = run.process;
    return Group("memory")
        .number("memory", run.row.has_memory_bytes(), run.row.memory_bytes(), FactUnit::kBytes)
        .words("total_heap_size", run.row.has_heap_words(), run.row.heap_words())
        .words("heap_size", process.has_heap_words(), process.heap_words())
        .words("heap_used", process.has_heap_used_words(), process.heap_used_words())
        .words("stack_size", process.has_stack_words(), process.stack_words())
        .words("old_heap_size", process.has_old_heap_words(), process.old_heap_words())
        .words("old_heap_used", process.has_old_heap_used_words(), process.old_heap_used_words())
        .words("fragments", process.has_fragment_words(), process.fragment_words())
        .number("fragment_count", process.has_heap_fragments(), process.heap_fragments())
        .words("captured", run.end.has_words_captured(), run.end.words_captured())
        .take();
}

FactGroup collection(const Dump& dump, const ProcessRun& run) {
    const records::Process& process = run.process;
    const auto scheme = static_cast<format::TermScheme>(dump.node().term_scheme());
    const bool three_flags =
        scheme == format::TermScheme::kOtp27 || scheme == format::TermScheme::kOtp29;
    return Group("garbage_collection")
        .number("minor_gcs", process.has_minor_collections(), process.minor_collections())
        .number("fullsweep_after", process.has_fullsweep_after(), process.fullsweep_after())
        .words("min_heap_size", process.has_min_heap_words(), process.min_heap_words())
        .words("min_bin_vheap_size", process.has_min_binary_virtual_heap_words(),
               process.min_binary_virtual_heap_words())
        .words("max_heap_size", process.has_max_heap_word(),
               process.max_heap_word() >> (kMaxHeapFlagBits + (three_flags ? 1 : 0)))
        .flag("max_heap_size_kill", process.has_max_heap_word(),
              (process.max_heap_word() & kMaxHeapKill) != 0)
        .flag("max_heap_size_error_logger", process.has_max_heap_word(),
              (process.max_heap_word() & kMaxHeapLog) != 0)
        .flag("max_heap_size_include_shared_binaries", process.has_max_heap_word() && three_flags,
              (process.max_heap_word() & kMaxHeapWithBinaries) != 0)
        .take();
}

/// erl_gc.c, erts_process_gc_info(): the same sizes under other names, and some more.
FactGroup collection_info(const ProcessRun& run) {
    const records::Process& process = run.process;
    const bool fragments = process.has_fragment_words() && run.end.has_message_words();
    const bool recent = process.has_high_water_address() && process.has_heap_address() &&
                        process.high_water_address() >= process.heap_address();
    return Group("garbage_collection_info")
        .words("old_heap_block_size", process.has_old_heap_words(), process.old_heap_words())
        .words("heap_block_size", process.has_heap_words(), process.heap_words())
        .words("mbuf_size", fragments, process.fragment_words() + run.end.message_words())
        .words("recent_size", recent,
               (process.high_water_address() - process.heap_address()) / kWordBytes)
        .words("stack_size", process.has_stack_words(), process.stack_words())
        .words("old_heap_size", process.has_old_heap_used_words(), process.old_heap_used_words())
        .words("heap_size", process.has_heap_used_words(), process.heap_used_words())
        .words("bin_vheap_size", process.has_off_heap_overhead_words(),
               process.off_heap_overhead_words())
        .words("bin_vheap_block_size", process.has_binary_virtual_heap_words(),
               process.binary_virtual_heap_words())
        .words("bin_old_vheap_size", process.has_old_binary_virtual_heap_words(),
               process.old_binary_virtual_heap_words())
        .words("bin_old_vheap_block_size", process.has_old_binary_virtual_heap_block_words(),
               process.old_binary_virtual_heap_block_words())
        .take();
}

FactGroup queue(const ProcessRun& run) {
    const records::Process& process = run.process;
    std::optional<std::string> data;
    if (process.has_off_heap_message_queue()) {
        data = process.off_heap_message_queue() ? "off_heap" : "on_heap";
    }
    return Group("message_queue")
        .number("message_queue_len", process.has_message_queue_length(),
                process.message_queue_length())
        .text("message_queue_data", data)
        .number("inner", process.has_inner_queue_length(), process.inner_queue_length())
        .number("middle", process.has_middle_queue_length(), process.middle_queue_length())
        .number("outer", process.has_outer_queue_length(), process.outer_queue_length())
        .number("buffered", process.has_buffered_queue_length(), process.buffered_queue_length())
        .number("other_signals", process.has_signal_count(), process.signal_count())
        .take();
}

}  // namespace

std::vector<FactGroup> process_facts(Dump& dump, const ProcessRun& run, TermPrinter& printer,
                                     const DictionaryMarks& marks) {
    return {identity(dump, run, printer, marks),
            state(dump, run, printer),
            memory(run),
            collection(dump, run),
            collection_info(run),
            queue(run)};
}

}  // namespace beamdump::query
