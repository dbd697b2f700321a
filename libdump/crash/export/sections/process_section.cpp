#include <libdump/base/return_if_error.h>
#include <libdump/base/terminal_text.h>
#include <libdump/crash/export/sections/internal_state.h>
#include <libdump/crash/export/sections/link_list.h>
#include <libdump/crash/export/sections/process_section.h>
#include <libdump/model/owner_id.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::crash {

namespace {

/// The crash dump's name for a status (erts_dump_process_state()); empty: unknown.
std::string_view state_text(std::string_view status) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kStates = {
        {{"exiting", "Exiting"},
         {"garbage_collecting", "Garbing"},
         {"suspended", "Suspended"},
         {"running", "Running"},
         {"runnable", "Scheduled"},
         {"waiting", "Waiting"},
         {"free", "Non Existing"}}};
    for (const auto& [name, text] : kStates) {
        if (name == status) {
            return text;
        }
    }
    return {};
}

class ProcessSection {
  public:
    ProcessSection(Dump& dump, const ProcessRun& run, TermExport& terms)
        : dump_(dump), run_(run), process_(run.process), terms_(terms), out_(terms.out()) {}

    Result<void> write() {
        out_.put("=proc:");
        out_.put(pid_text(run_.owner_id()));
        out_.put('\n');
        origin();
        queue_and_fragments();
        RETURN_IF_ERROR(write_link_list(dump_, run_, terms_));
        counters();
        virtual_heaps();
        number("Memory", run_.end.has_memory_bytes(), run_.end.memory_bytes());
        if (process_.status() == "garbage_collecting") {
            collection();
        }
        place();
        if (process_.has_state_bits()) {
            out_.put("Internal State: ");
            out_.put(internal_state_text(process_.state_bits(), terms_.scheme().id));
            out_.put('\n');
        } else if (process_.has_priority()) {
            // A conversion keeps only the priority of the internal state.
            std::string priority = process_.priority();
            std::ranges::transform(priority, priority.begin(), [](unsigned char letter) {
                return static_cast<char>(std::toupper(letter));
            });
            out_.put("Internal State: USR_PRIO_");
            out_.put(one_line(priority));
            out_.put('\n');
        }
        return {};
    }

  private:
    void number(std::string_view name, bool known, std::uint64_t value) {
        if (known) {
            out_.put(name);
            out_.put(": ");
            out_.number(value);
            out_.put('\n');
        }
    }

    [[nodiscard]] bool runs() const {
        return process_.status() == "running" || process_.status() == "garbage_collecting";
    }

    void origin() {
        if (const auto state = state_text(process_.status()); !state.empty()) {
            out_.put("State: ");
            out_.put(state);
            out_.put('\n');
        }
        if (process_.has_registered_name_atom()) {
            out_.put("Name: ");
            terms_.atom(process_.registered_name_atom());
            out_.put('\n');
        }
        const records::Mfa& initial = process_.initial_call();
        if (initial.has_module_atom() && initial.has_function_atom() && initial.has_arity()) {
            out_.put("Spawned as: ");
            terms_.function({initial.module_atom(), initial.function_atom(), initial.arity()});
            out_.put('\n');
        }
        current_call();
        if (process_.has_parent_word()) {
            out_.put("Spawned by: ");
            const std::uint64_t parent = process_.parent_word();
            // The VM's own processes have no parent: undefined.
            const bool none = word_kind(terms_.scheme(), parent) == WordKind::kAtom;
            terms_.printed(none ? terms_.scheme().nil : parent);
            out_.put('\n');
        }
    }

    /// The function recorded by the VM as running, mostly only in calls of its own functions.
    void current_call() {
        if (terms_.of_crash_dump()) {
            current_of_crash_dump();
            return;
        }
        // Absent: the current function is that of the program counter, which has its own line. The
        // address may be in the table of exports: of a BIF that traps.
        if (process_.current_address() != 0) {
            current_line();
        }
    }

    /// A crash dump has a line for the current function if the program counter does not show it.
    void current_of_crash_dump() {
        const records::Mfa& current = process_.current_function();
        if (const auto counter = process_.has_instruction_address()
                                     ? dump_.code_at(process_.instruction_address())
                                     : std::nullopt;
            counter && counter->function &&
            counter->function->module_atom == current.module_atom() &&
            counter->function->function_atom == current.function_atom() &&
            counter->function->arity == current.arity()) {
            return;
        }
        current_line();
    }

    void current_line() {
        const records::Mfa& current = process_.current_function();
        if (!current.has_module_atom() || !current.has_function_atom() || !current.has_arity()) {
            return;
        }
        out_.put(runs() ? "Last scheduled in for: " : "Current call: ");
        terms_.function({current.module_atom(), current.function_atom(), current.arity()});
        out_.put('\n');
    }

    void queue_and_fragments() {
        number("Message queue length", process_.has_message_queue_length(),
               process_.message_queue_length());
        number("Number of heap fragments", process_.has_heap_fragments(),
               process_.heap_fragments());
        number("Heap fragment data", process_.has_fragment_words(), process_.fragment_words());
    }

    void counters() {
        const auto words = [](std::uint64_t from, std::uint64_t to) {
            return (to - from) / kWordBytes;
        };
        number("Reductions", process_.has_reductions(), process_.reductions());
        number("Stack+heap", process_.has_heap_words(), process_.heap_words());
        number("OldHeap", process_.has_old_heap_words(), process_.old_heap_words());
        // As the VM counts them, the stack is unused.
        if (terms_.of_crash_dump()) {
            number("Heap unused", process_.has_heap_words() && process_.has_heap_used_words(),
                   process_.heap_words() - process_.heap_used_words());
        } else {
            number("Heap unused",
                   process_.has_heap_end_address() && process_.has_heap_top_address() &&
                       process_.heap_end_address() >= process_.heap_top_address(),
                   words(process_.heap_top_address(), process_.heap_end_address()));
        }
        number("OldHeap unused",
               process_.has_old_heap_words() && process_.has_old_heap_used_words() &&
                   process_.old_heap_words() >= process_.old_heap_used_words(),
               process_.old_heap_words() - process_.old_heap_used_words());
    }

    void virtual_heaps() {
        const bool used = process_.has_off_heap_overhead_words();
        const bool old_used = process_.has_old_binary_virtual_heap_words();
        const std::uint64_t overhead = process_.off_heap_overhead_words();
        const std::uint64_t old = process_.old_binary_virtual_heap_words();
        const std::uint64_t old_block = process_.old_binary_virtual_heap_block_words();
        number("BinVHeap", used, overhead);
        number("OldBinVHeap", old_used, old);
        // As in the VM, without a check for underflow.
        number("BinVHeap unused", used && process_.has_binary_virtual_heap_words(),
               process_.binary_virtual_heap_words() - overhead);
        if (old_used && process_.has_old_binary_virtual_heap_block_words()) {
            if (old_block < old) {
                out_.put("OldBinVHeap unused: overflow\n");
            } else {
                number("OldBinVHeap unused", true, old_block - old);
            }
        }
    }

    void collection() {
        const auto address = [this](std::string_view name, bool known, std::uint64_t value) {
            if (known) {
                out_.put(name);
                out_.put(": ");
                out_.hex(value);
                out_.put('\n');
            }
        };
        address("New heap start", process_.has_heap_address(), process_.heap_address());
        address("New heap top", process_.has_heap_top_address(), process_.heap_top_address());
        address("Stack top", process_.has_stack_top_address(), process_.stack_top_address());
        address("Stack end", process_.has_heap_end_address(), process_.heap_end_address());
        address("Old heap start", process_.has_old_heap_address(), process_.old_heap_address());
        address("Old heap top", process_.has_old_heap_top_address(),
                process_.old_heap_top_address());
        address("Old heap end", process_.has_old_heap_end_address(),
                process_.old_heap_end_address());
    }

    void place() {
        if (process_.has_instruction_address()) {
            out_.put("Program counter: ");
            out_.pointer(process_.instruction_address());
            out_.put(" (");
            terms_.code(process_.instruction_address());
            out_.put(")\n");
        }
        if (process_.has_arity() && !runs()) {
            out_.put("arity = ");
            out_.number(process_.arity());
            out_.put('\n');
        }
    }

    Dump& dump_;
    const ProcessRun& run_;
    const records::Process& process_;
    TermExport& terms_;
    TextOutput& out_;
};

}  // namespace

Result<void> write_process_section(Dump& dump, const ProcessRun& run, TermExport& terms) {
    return ProcessSection(dump, run, terms).write();
}

}  // namespace beamdump::crash
