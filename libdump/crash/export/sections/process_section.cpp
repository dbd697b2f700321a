#include <libdump/base/return_if_error.h>
#include <libdump/base/terminal_text.h>
#include <libdump/crash/export/sections/process_section.h>
#include <libdump/format/format.h>
#include <libdump/format/process_flags.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::crash {

namespace {

constexpr std::array<std::string_view, 4> kPriorities = {"MAX", "HIGH", "NORMAL", "LOW"};
constexpr unsigned kBits = 32;

/// A process's state bits as the VM names them in "Internal State" (erl_process_dump.c,
/// erts_dump_extended_process_state(), and erl_process.h, ERTS_PSFLG_*; OTP 25.2.3, 27.3.4 and
/// 29.1.1).
std::string internal_state_text(std::uint32_t bits, ErtsVersion version) {
    const auto priority = [bits](unsigned which) {
        return kPriorities[(bits >> (which * kStatePriorityBits)) & 3U];
    };
    std::string text = fmt::format("ACT_PRIO_{} | USR_PRIO_{} | PRQ_PRIO_{}", priority(0),
                                   priority(1), priority(2));
    for (unsigned bit = kFirstStateFlag; bit < kBits; ++bit) {
        if ((bits >> bit & 1U) != 0) {
            const auto name = flag_name(FlagWord::kState, bit, version);
            text += kBetweenFlags;
            text += name ? std::string(*name) : fmt::format("UNKNOWN({})", std::uint32_t{1} << bit);
        }
    }
    return text;
}

class LinkList {
  public:
    LinkList(Dump& dump, TermExport& terms) : dump_(dump), terms_(terms), out_(terms.out()) {}

    void link(const records::Link& link) {
        next();
        other(link);
    }

    void monitor(const records::Monitor& monitor) {
        if (!is_shown(monitor)) {
            return;
        }
        next();
        if (monitor.is_target()) {
            out_.put("{from,");
            if (of_typed_resource(monitor)) {
                pair(monitor.name_atom(), monitor.resource_type_atom());
            } else {
                other(monitor);
            }
        } else {
            out_.put("{to,");
            watched(monitor);
        }
        out_.put(',');
        reference(monitor);
        out_.put('}');
    }

    void end() {
        if (begun_) {
            out_.put("]\n");
        }
    }

  private:
    static bool is_shown(const records::Monitor& monitor) {
        if (of_typed_resource(monitor)) {
            return true;
        }
        switch (monitor.kind()) {
            case records::MONITOR_KIND_PROCESS:
            case records::MONITOR_KIND_PORT:
            case records::MONITOR_KIND_TIME_OFFSET:
            case records::MONITOR_KIND_REMOTE:
            case records::MONITOR_KIND_NODE:
                return true;
            default:
                return false;
        }
    }

    /// Crash dumps have a resource's module and type, captures do not.
    static bool of_typed_resource(const records::Monitor& monitor) {
        return monitor.kind() == records::MONITOR_KIND_RESOURCE && monitor.is_target() &&
               monitor.has_name_atom() && monitor.has_resource_type_atom();
    }

    void next() {
        out_.put(begun_ ? ", " : "Link list: [");
        begun_ = true;
    }

    /// The number by which a node is printed.
    std::uint64_t channel(std::uint64_t address) {
        const auto node = dump_.tables().node_at(address);
        return node && !node->is_self ? node->name_atom : 0;
    }

    /// A remote process of which only numbers are known, as the VM prints it.
    template <typename Relation>
    void other(const Relation& relation) {
        if (relation.has_other_word() || !relation.has_remote_owner_id()) {
            terms_.printed(relation.other_word());
            return;
        }
        constexpr unsigned kSerialShift = 32;
        out_.put('<');
        out_.number(channel(relation.remote_node_address()));
        out_.put('.');
        out_.number(relation.remote_owner_id() & 0xFFFF'FFFFU);
        out_.put('.');
        out_.number(relation.remote_owner_id() >> kSerialShift);
        out_.put('>');
    }

    void watched(const records::Monitor& monitor) {
        if (!monitor.has_name_atom()) {
            other(monitor);
            return;
        }
        pair(monitor.name_atom(),
             monitor.has_node_atom() ? monitor.node_atom() : dump_.node().name_atom());
    }

    void pair(std::uint32_t first, std::uint32_t second) {
        out_.put('{');
        terms_.atom(first);
        out_.put(',');
        terms_.atom(second);
        out_.put('}');
    }

    /// That of another node, by which it monitors this process, has that node's number first.
    void reference(const records::Monitor& monitor) {
        if (monitor.reference_size() == 0) {
            terms_.printed(terms_.scheme().nil);  // of a node's monitor
            return;
        }
        const bool of_other = monitor.kind() == records::MONITOR_KIND_REMOTE && monitor.is_target();
        out_.put("#Ref<");
        out_.number(of_other ? channel(monitor.remote_node_address()) : 0);
        for (int i = monitor.reference_size(); i-- > 0;) {
            out_.put('.');
            out_.number(monitor.reference(i));
        }
        out_.put('>');
    }

    Dump& dump_;
    TermExport& terms_;
    TextOutput& out_;
    bool begun_ = false;
};

/// Calls `visit` for each record of a process's links and monitors.
template <typename Visit>
Result<void> each_page(Dump& dump, const ProcessRun& run, const Visit& visit) {
    for (const Pack& pack : run.directory.relations) {
        auto page = dump.reader().message_at<records::Relations>(pack.offset,
                                                                 format::RecordKind::kRelations);
        if (!page) {
            return wrap("reading links and monitors", std::move(page.error()));
        }
        visit(*page);
    }
    return {};
}

/// Writes a process's "Link list" (break.c, doit_print_link() and doit_print_monitor(), OTP
/// 27.3.4): links and monitors in both directions; no line if it has none. Omitted, as by the VM:
/// kinds of monitors that it does not show. Also omitted: a monitoring resource whose type is not
/// in the dump.
Result<void> write_link_list(Dump& dump, const ProcessRun& run, TermExport& terms) {
    LinkList list(dump, terms);
    auto done = each_page(dump, run, [&list](const records::Relations& page) {
        for (const auto& link : page.link()) {
            list.link(link);
        }
    });
    if (done) {
        done = each_page(dump, run, [&list](const records::Relations& page) {
            for (const auto& monitor : page.monitor()) {
                list.monitor(monitor);
            }
        });
    }
    list.end();
    return done;
}

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
            out_.put(internal_state_text(process_.state_bits(),
                                         erts_version(dump_.node().erts_version())));
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
