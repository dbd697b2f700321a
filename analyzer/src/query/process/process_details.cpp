#include "query/process/process_details.h"

#include "query/facts/dump_facts.h"
#include "query/process/deferred_texts.h"
#include "query/process/dictionary.h"
#include "query/process/opened_process.h"
#include "query/process/process_binaries.h"
#include "query/process/process_names.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/left_out.h>
#include <libdump/format/process_name.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/messages.h>
#include <libdump/model/owner_id.h>
#include <libdump/model/process_dictionary.h>
#include <libdump/model/signals.h>
#include <libdump/term/pointer_text.h>
#include <libdump/term/process_stack.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <ranges>
#include <set>
#include <utility>

namespace beamdump::query {

namespace {

/// The facts that proc_lib keeps in a process's dictionary.
struct DictionaryMarks {
    std::optional<std::string> initial_call;  ///< proc_lib:translate_initial_call/1's
    std::optional<std::string> label;         ///< proc_lib:set_label/1's
    std::optional<std::string> process_name;  ///< RabbitMQ's
};

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
    const auto flags_if = [&dump](bool has, FlagWord word, std::uint64_t bits) {
        return has ? std::optional(flag_text(dump, word, bits)) : std::nullopt;
    };
    constexpr std::size_t kLongestToken = 1000;
    std::optional<std::string> trace_token;
    if (process.has_sequential_trace_token_word() && !run.is_void()) {
        trace_token = term_text(printer, process.sequential_trace_token_word(), kLongestToken).text;
    }
    std::optional<std::string> left_out;
    if (const auto& detail = run.end.detail(); !run.is_void()) {
        const auto at = detail.find(format::kLeftOut);
        if (at != std::string::npos) {
            left_out = detail.substr(at + format::kLeftOut.size());
        }
    }
    return Group("state")
        .text("status", known(process.has_status(), process.status()))
        .text("current_function", mfa_text(dump, process.current_function()))
        .text("current_location", location_text(dump, process))
        .address("instruction_address", process.instruction_address())
        .text("priority", known(process.has_priority(), process.priority()))
        .text("left_out", left_out)
        .number("reductions", process.has_reductions(), process.reductions())
        .flag("trap_exit", process.has_trap_exit(), process.trap_exit())
        .flag("sensitive", process.has_sensitive(), process.sensitive())
        .flag("hibernated", process.has_hibernated(), process.hibernated())
        .number("catchlevel", process.has_catches(), static_cast<std::uint64_t>(process.catches()))
        .text("sequential_trace_token", trace_token)
        .number("suspend_count", process.has_suspend_count(), process.suspend_count())
        .number("state_bits", process.has_state_bits(), process.state_bits(), FactUnit::kBits)
        .text("state_names",
              flags_if(process.has_state_bits(), FlagWord::kState, process.state_bits()))
        .number("flags", process.has_flags(), process.flags(), FactUnit::kBits)
        .text("flag_names", flags_if(process.has_flags(), FlagWord::kProcess, process.flags()))
        .text("signal_queue_flag_names",
              flags_if(process.has_signal_queue_flags(), FlagWord::kSignalQueue,
                       process.signal_queue_flags()))
        .number("trace_flags", process.has_trace_flags(), process.trace_flags(), FactUnit::kBits)
        .text("trace_flag_names",
              flags_if(process.has_trace_flags(), FlagWord::kTrace, process.trace_flags()))
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
    // erl_process.h: MAX_HEAP_SIZE_INCLUDE_OH_BINS, from OTP 26 on.
    const bool three_flags = erts_version(dump.node().erts_version()) >= ErtsVersion{{14}};
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

/// The facts of a process's structure, in groups.
std::vector<FactGroup> process_facts(Dump& dump, const ProcessRun& run, TermPrinter& printer,
                                     const DictionaryMarks& marks) {
    return {identity(dump, run, printer, marks),
            state(dump, run, printer),
            memory(run),
            collection(dump, run),
            collection_info(run),
            queue(run)};
}

/// Entries of the queues of a process whose signals are counted by kind.
constexpr std::uint64_t kMostCountedEntries = 1U << 20U;

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

/// As process_info(current_stacktrace): functions and lines, the current one first, 8 at most (the
/// default of system_flag(backtrace_depth)). As current_stacktrace() and gather_stacktrace() of
/// OTP 25.2.3: repeated addresses are skipped, and those without a function count, but are not
/// shown. Frame pointers are skipped.
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

std::string region_kind_text(format::RegionKind kind) {
    switch (kind) {
        case format::RegionKind::kStack:
            return "stack";
        case format::RegionKind::kHeap:
            return "heap";
        case format::RegionKind::kOldHeap:
            return "old_heap";
        case format::RegionKind::kAbandonedHeap:
            return "abandoned_heap";
        case format::RegionKind::kHeapFragment:
            return "heap_fragment";
        case format::RegionKind::kReceivedFragment:
            return "received_fragment";
        case format::RegionKind::kMessageFragment:
            return "message_fragment";
        case format::RegionKind::kDictionary:
            return "dictionary";
        case format::RegionKind::kArguments:
            return "arguments";
        case format::RegionKind::kShadowFragment:
            return "shadow_fragment";
        case format::RegionKind::kSpecificData:
            return "specific_data";
        case format::RegionKind::kSignalData:
            return "signal_data";
        case format::RegionKind::kRemoteIdentifiers:
            return "remote_identifiers";
        case format::RegionKind::kExternalData:
            return "external_data";
        case format::RegionKind::kUnplaced:
            return "unplaced";
        case format::RegionKind::kCollectedHeap:
            return "collected_heap";
        case format::RegionKind::kCopiedHeap:
            return "copied_heap";
        default:
            return fmt::format("kind_{}", static_cast<int>(kind));
    }
}

/// Reads one process's details, part by part.
class DetailsReading {
  public:
    DetailsReading(Dump& dump, OpenedProcess& process, DeferredTexts& texts,
                   const DetailsOptions& options, ProcessDetails& into)
        : dump_(dump),
          process_(process),
          run_(process.run),
          scheme_(process.scheme),
          context_(process.context()),
          options_(options),
          into_(into),
          texts_(texts),
          identifiers_(process.context(), without_style(process.scheme)) {}

    Result<void> run_all() {
        into_.withheld = run_.process.sensitive() && !options_.sensitive;
        const bool terms = !into_.withheld && !run_.is_void();
        if (terms) {
            RETURN_IF_ERROR(dictionary());
        }
        into_.groups = process_facts(dump_, run_, identifiers_, marks_);
        into_.stacktrace = current_stacktrace(dump_, process_);
        if (terms) {
            RETURN_IF_ERROR(arguments());
        }
        RETURN_IF_ERROR(read_relations(dump_, run_, identifiers_, options_.limit, into_));
        system_tasks();
        regions();
        RETURN_IF_ERROR(binaries());
        RETURN_IF_ERROR(messages());
        return {};
    }

  private:
    [[nodiscard]] bool room_for(std::size_t items) const {
        return options_.limit == 0 || items < options_.limit;
    }

    Result<void> arguments() {
        if (!form_of(dump_).argument_registers) {
            return {};
        }
        ASSIGN_OR_RETURN(const auto words, process_.arguments());
        auto& list = into_.arguments.emplace();
        list.total = words.size();
        for (std::size_t index = 0; index < words.size() && room_for(index); ++index) {
            list.items.push_back({index, text((words)[index])});
        }
        return {};
    }

    TermText text(std::uint64_t word) { return texts_.word(word); }

    void regions() {
        const bool lazily_read =
            !form_of(dump_).heap_areas && !run_.is_void() && !run_.end.has_words_captured();
        if (lazily_read) {
            return;
        }
        auto& regions = into_.regions.emplace();
        for (const Region& region : run_.directory.regions) {
            ++regions.total;
            if (!room_for(regions.items.size())) {
                continue;
            }
            // Words of a converted crash dump have eight bytes, whatever the node's word size.
            const auto unit =
                region.unit_bytes() == kWordBytes ? into_.dump.word_bytes : region.unit_bytes();
            RegionLine line{region_kind_text(region.kind),
                            address_in_node(process_.scheme, region.address), region.total * unit,
                            region.here * unit, std::nullopt};
            if (region.here < region.total) {
                line.absent_because = absence_reason(region.state);
            }
            regions.items.push_back(std::move(line));
        }
    }

    Result<void> binaries() {
        if (!form_of(dump_).off_heap_lists) {
            return {};
        }
        ASSIGN_OR_RETURN(auto binaries, process_binaries(dump_, process_, options_.limit));
        into_.binaries = std::move(binaries);
        return {};
    }

    void system_tasks() {
        auto tasks = system_tasks_of(dump_, run_.process);
        if (tasks) {
            const auto total = tasks->size();
            if (!room_for(total)) {
                tasks->resize(std::min<std::size_t>(total, options_.limit));
            }
            into_.system_tasks = Excerpt<SystemTaskLine>{std::move(*tasks), total};
        }
    }

    Result<void> dictionary() {
        const auto entry = [this](std::uint64_t key, std::uint64_t value) {
            ++into_.dictionary.total;
            mark(key, value);
            if (room_for(into_.dictionary.items.size())) {
                into_.dictionary.items.push_back({text(key), text(value)});
            }
            return true;
        };
        const auto lost = [this](std::uint64_t word) {
            ++into_.dictionary.total;
            if (!room_for(into_.dictionary.items.size())) {
                ++into_.malformed;
                return true;
            }
            const auto absent = lost_entry(texts_.printer(), word);
            into_.malformed += absent.is_term ? 1 : 0;
            into_.dictionary.items.push_back({absent.text, absent.text});
            return true;
        };
        const auto read = walk_dictionary(context_, run_, scheme_, entry, lost);
        if (!read) {
            return wrap("reading the dictionary", read.error());
        }
        return {};
    }

    /// Initial call and label from the dictionary (proc_lib.erl, OTP 25; the label from OTP 27 on,
    /// before that Elixir's).
    void mark(std::uint64_t key, std::uint64_t value) {
        constexpr std::size_t kLongestLabel = 1000;
        if (word_kind(scheme_, key) != WordKind::kAtom) {
            return;
        }
        const auto name = context_.atom(static_cast<std::uint32_t>(table_index(key)));
        if (name == "$initial_call") {
            marks_.initial_call = initial_call(value);
        } else if (name == "$process_label") {
            marks_.label = term_text(texts_.printer(), value, kLongestLabel).text;
        } else if (name == "process_name") {
            marks_.process_name = term_text(texts_.printer(), value, kLongestLabel).text;
        }
    }

    /// {Module, Function, Arity} as module:function/arity; nullopt for other terms.
    std::optional<std::string> initial_call(std::uint64_t word) {
        std::array<std::uint64_t, 4> tuple{};
        if (word_kind(scheme_, word) != WordKind::kBoxed) {
            return std::nullopt;
        }
        const auto got = context_.words(pointer_of(word), tuple);
        if (!got || *got < tuple.size() || boxed_kind(scheme_, tuple[0]) != BoxedKind::kTuple ||
            header_arity(tuple[0]) != 3 || word_kind(scheme_, tuple[1]) != WordKind::kAtom ||
            word_kind(scheme_, tuple[2]) != WordKind::kAtom ||
            word_kind(scheme_, tuple[3]) != WordKind::kSmall) {
            return std::nullopt;
        }
        return function_text(dump_, {static_cast<std::uint32_t>(table_index(tuple[1])),
                                     static_cast<std::uint32_t>(table_index(tuple[2])),
                                     static_cast<std::uint32_t>(small_value(tuple[3]))});
    }

    /// Entries past the limit are counted by their packs, not read.
    Result<void> messages() {
        std::uint64_t entries = 0;
        for (const Pack& pack : run_.directory.messages) {
            entries += pack.count;
        }
        const bool counts_signals =
            !run_.is_void() && run_.process.has_signal_count() && entries <= kMostCountedEntries;
        std::map<std::string_view, std::uint64_t> signals;
        const bool to_the_end = counts_signals && run_.process.signal_count() != 0;
        MessageWalker walker(dump_.reader(), run_);
        std::uint64_t walked = 0;
        while (to_the_end || room_for(into_.messages.items.size())) {
            ASSIGN_OR_RETURN(auto entry, walker.next());
            if (entry == nullptr) {
                break;
            }
            ++walked;
            if (!is_message(*entry)) {
                ++into_.other_signals;
                if (entry->has_signal_tag()) {
                    ++signals[signal_kind(entry->signal_tag())];
                }
                continue;
            }
            ++into_.messages.total;
            if (!into_.withheld && room_for(into_.messages.items.size())) {
                RETURN_IF_ERROR(message(*entry, walker.index()));
            }
        }
        into_.messages.total += std::max(entries, walked) - walked;
        if (counts_signals) {
            auto& list = into_.signals.emplace();
            for (const auto& [kind, count] : signals) {
                list.items.push_back({std::string(kind), count});
            }
            std::ranges::stable_sort(list.items, std::greater(), &SignalLine::count);
            list.total = list.items.size();
        }
        return {};
    }

    Result<void> message(const records::Message& entry, std::uint64_t index) {
        ASSIGN_OR_RETURN(auto message, texts_.message(entry, index));
        into_.messages.items.push_back({index, queue_text(entry.queue()), std::move(message)});
        return {};
    }

    Dump& dump_;
    OpenedProcess& process_;
    const ProcessRun& run_;
    const TagScheme& scheme_;
    ProcessContext& context_;
    const DetailsOptions& options_;
    ProcessDetails& into_;
    DeferredTexts& texts_;
    TermPrinter identifiers_;  ///< of what is no term of the process: Erlang's in any syntax
    DictionaryMarks marks_;
};

constexpr std::size_t kLongestId = 1000;

template <typename Item>
bool wanted(Excerpt<Item>& excerpt, std::uint64_t limit) {
    ++excerpt.total;
    return limit == 0 || excerpt.items.size() < limit;
}

std::string link_kind(records::LinkKind kind) {
    switch (kind) {
        case records::LINK_KIND_PROCESS:
            return "process";
        case records::LINK_KIND_PORT:
            return "port";
        case records::LINK_KIND_REMOTE:
            return "remote";
        default:
            return "unknown";
    }
}

std::string monitor_kind(records::MonitorKind kind) {
    switch (kind) {
        case records::MONITOR_KIND_PROCESS:
            return "process";
        case records::MONITOR_KIND_PORT:
            return "port";
        case records::MONITOR_KIND_TIME_OFFSET:
            return "time_offset";
        case records::MONITOR_KIND_REMOTE:
            return "remote";
        case records::MONITOR_KIND_RESOURCE:
            return "resource";
        case records::MONITOR_KIND_NODE:
            return "node";
        case records::MONITOR_KIND_NODES:
            return "nodes";
        case records::MONITOR_KIND_SUSPEND:
            return "suspend";
        case records::MONITOR_KIND_ALIAS:
            return "alias";
        default:
            return "unknown";
    }
}

/// The process or port of a link or monitor. For a remote one whose words the dump lacks, the
/// numbers are known.
template <typename Relation>
std::string other_text(Dump& dump, const Relation& relation, TermPrinter& printer) {
    if (relation.has_other_word() || !relation.has_remote_owner_id()) {
        return term_text(printer, relation.other_word(), kLongestId).text;
    }
    const auto node = dump.tables().node_at(relation.remote_node_address());
    const std::string channel =
        node ? std::to_string(node->is_self ? 0 : node->name_atom) : std::string("?");
    return pid_text(channel, relation.remote_owner_id());
}

/// The other side of a monitor. By name: on this node unless another is named.
std::string monitor_other(Dump& dump, const records::Monitor& monitor, TermPrinter& printer) {
    if (monitor.has_name_atom() && !monitor.is_target()) {
        const std::string name = atom_text(dump, monitor.name_atom());
        const std::uint32_t node =
            monitor.has_node_atom() ? monitor.node_atom() : dump.node().name_atom();
        return fmt::format("{{{},{}}}", name, atom_text(dump, node));
    }
    return other_text(dump, monitor, printer);
}

/// A local reference, numbers highest first, as Erlang prints it.
std::optional<std::string> reference_text(const records::Monitor& monitor) {
    if (monitor.reference_size() == 0) {
        return std::nullopt;
    }
    return fmt::format("#Ref<0.{}>",
                       fmt::join(std::ranges::reverse_view(monitor.reference()), "."));
}

/// A resource has no pid: process_info shows its magic reference.
MonitorLine resource_line(const records::Monitor& monitor) {
    return {monitor_kind(monitor.kind()), reference_text(monitor).value_or("unknown"),
            std::nullopt};
}

MonitorLine monitor_line(Dump& dump, const records::Monitor& monitor, TermPrinter& printer) {
    if (monitor.kind() == records::MONITOR_KIND_RESOURCE && monitor.is_target()) {
        return resource_line(monitor);
    }
    return {monitor_kind(monitor.kind()), monitor_other(dump, monitor, printer),
            reference_text(monitor)};
}

/// Calls `visit` with each item that a relation with a process of this node is.
template <typename Visit>
void each_local(ProcessDetails& details, Visit visit) {
    const auto look_at = [&](auto& items) {
        for (auto& item : items) {
            if (const auto owner = parse_pid(item.other)) {
                visit(*owner, item);
            }
        }
    };
    look_at(details.links.items);
    look_at(details.monitors.items);
    look_at(details.monitored_by.items);
    if (details.system_tasks) {
        for (auto& task : details.system_tasks->items) {
            if (const auto owner = task.requester ? parse_pid(*task.requester) : std::nullopt) {
                visit(*owner, task);
            }
        }
    }
}

Result<void> name_others(Dump& dump, ProcessDetails& details) {
    std::set<std::uint64_t> owners;
    each_local(details, [&](std::uint64_t owner, const auto&) { owners.insert(owner); });
    ASSIGN_OR_RETURN(const auto names, ProcessNames(dump).of(owners));
    each_local(details, [&](std::uint64_t owner, auto& item) {
        if (const auto name = names.find(owner); name != names.end()) {
            item.display_name = name->second;
        }
    });
    return {};
}

}  // namespace

Result<ProcessDetails> process_details(Dump& dump, const std::string& file, std::string_view name,
                                       const DetailsOptions& options) {
    ASSIGN_OR_RETURN(auto process, open_process(dump, name, HeapUse::kWhole));
    ProcessDetails details;
    details.dump = dump_facts(dump, file);
    details.line = process->line;
    if (process->run.is_void() && !process->run.end.detail().empty()) {
        details.void_detail = process->run.end.detail();
    }
    const std::shared_ptr<OpenedProcess> opened = std::move(process);
    const auto texts = DeferredTexts::make(dump, opened, options.term_bytes);
    details.texts = texts;
    DetailsReading reading(dump, *opened, *texts, options, details);
    RETURN_IF_ERROR(reading.run_all());
    return details;
}

std::uint64_t ProcessDetails::all_placeholders() const {
    return malformed + texts->placeholders();
}

std::optional<std::vector<SystemTaskLine>> system_tasks_of(Dump& dump,
                                                           const records::Process& process) {
    // Captures that read them have this.
    if (!process.has_extended_state_bits() || process.system_tasks_unread()) {
        return std::nullopt;
    }
    static constexpr std::array kPriorities = {"max", "high", "normal", "low"};
    std::vector<SystemTaskLine> lines;
    for (const auto& task : process.system_task()) {
        auto& line = lines.emplace_back();
        line.kind = system_task_kind(task.kind());
        if (task.has_priority() && task.priority() < kPriorities.size()) {
            line.priority = kPriorities.at(task.priority());
        }
        line.dirty = task.dirty();
        if (task.has_requester_owner_id()) {
            line.requester = pid_text(task.requester_owner_id());
        }
        if (task.has_module_atom()) {
            line.module = atom_text(dump, task.module_atom());
        }
    }
    return lines;
}

Result<void> read_relations(Dump& dump, const ProcessRun& run, TermPrinter& printer,
                            std::uint64_t limit, ProcessDetails& into) {
    if (form_of(dump).suspended_by_process) {
        into.suspending.emplace();
    } else {
        into.relations_known = run.end.has_links();
    }
    for (const Pack& pack : run.directory.relations) {
        auto relations = dump.reader().message_at<records::Relations>(
            pack.offset, format::RecordKind::kRelations);
        if (!relations) {
            return wrap("reading links and monitors", std::move(relations.error()));
        }
        for (const auto& link : relations->link()) {
            if (wanted(into.links, limit)) {
                into.links.items.push_back(
                    {link_kind(link.kind()), other_text(dump, link, printer), link.unlinking()});
            }
        }
        for (const auto& monitor : relations->monitor()) {
            auto& list = monitor.is_target() ? into.monitored_by : into.monitors;
            if (wanted(list, limit)) {
                list.items.push_back(monitor_line(dump, monitor, printer));
            }
            const bool suspends =
                monitor.kind() == records::MONITOR_KIND_SUSPEND && !monitor.is_target();
            if (suspends && into.suspending && wanted(*into.suspending, limit)) {
                into.suspending->items.push_back(
                    {term_text(printer, monitor.other_word(), kLongestId).text,
                     monitor.suspend_active() ? monitor.suspend_count() : 0,
                     monitor.suspend_active() ? 0 : monitor.suspend_count()});
            }
        }
    }
    return name_others(dump, into);
}

}  // namespace beamdump::query
