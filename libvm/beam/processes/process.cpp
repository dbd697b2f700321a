#include <libdump/base/return_if_error.h>
#include <libdump/format/format.h>
#include <libdump/format/process_row.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/processes/process.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

using records::ProcessStatus;

/// Sizes in a process structure beyond these (2^48 bytes of address space) are garbage.
constexpr std::uint64_t kMaxWords = std::uint64_t{1} << 45U;

void set_mfa(records::Mfa& into, const CodeMfa& from) {
    into.set_module_atom(from.module_atom);
    into.set_function_atom(from.function_atom);
    into.set_arity(from.arity);
}

constexpr std::uint64_t kMaxProcessWords = std::uint64_t{1} << 44U;  // more is garbage

constexpr std::uint64_t kMaxArguments = 1024;        // MAX_REG, erl_vm.h
constexpr std::uint64_t kMaxDictionary = 1U << 28U;  // slots

}  // namespace

void ProcessView::clear() {
    records::Process kept;
    kept.Swap(&facts);
    kept.Clear();
    *this = {};
    facts.Swap(&kept);
}

Result<ProcessReader> ProcessReader::open(Vm& vm, CodeLookup& code) {
    ASSIGN_OR_RETURN(auto atoms, AtomWords::resolve(vm.layout()));
    ASSIGN_OR_RETURN(auto pids, PidWords::of(vm));
    ProcessReader reader(vm, code, atoms, pids);
    LayoutNames names(vm.layout());
    reader.resolve(names);
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

Result<ProcessView> ProcessReader::decode(IdSlot slot, std::span<const std::byte> bytes,
                                          bool yielded) {
    ProcessView process;
    RETURN_IF_ERROR(decode(slot, bytes, yielded, process));
    return process;
}

Result<void> ProcessReader::decode(IdSlot slot, std::span<const std::byte> bytes, bool yielded,
                                   ProcessView& process) {
    const StructView view(bytes);
    process.clear();
    process.address = slot.address;
    process.facts.set_struct_address(slot.address);
    const auto id = view.get(f_.id);
    const auto owner = pids_.owner_id(id);
    if (!owner || pids_.slot(id) != slot.slot) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("process structure at {:#x}: expected the pid of slot {}, found "
                                "{:#x}",
                                slot.address, slot.slot, id));
    }
    process.facts.set_owner_id(*owner);
    process.facts.set_pid_word(id);
    judge(view, yielded, process);
    identity(view, process);
    counters(view, process);
    bounds(view, process);
    queues(view, process);
    off_heap_parts(view, process);
    return {};
}

ProcessReader::Heaps ProcessReader::heap_of(const StructView& view) const {
    return {{view.get(f_.heap), view.get(f_.htop)},
            {view.get(f_.old_heap), view.get(f_.old_htop)},
            view.get(f_.off_heap_first),
            view.get(f_.id)};
}

std::optional<ProcessReader::Areas> ProcessReader::areas_of(const StructView& view) const {
    const auto heap = view.get(f_.heap);
    const auto htop = view.get(f_.htop);
    const auto stop = view.get(f_.stop);
    const auto hend = view.get(f_.hend);
    const auto old_heap = view.get(f_.old_heap);
    const auto old_htop = view.get(f_.old_htop);
    const auto old_hend = view.get(f_.old_hend);
    const bool aligned = ((heap | htop | stop | hend | old_heap | old_htop | old_hend) & 7U) == 0;
    const bool ordered = heap <= htop && htop <= stop && stop <= hend && old_heap <= old_htop &&
                         old_htop <= old_hend;
    if (heap == 0 || !aligned || !ordered || (hend - heap) / 8 > kMaxWords) {
        return std::nullopt;
    }
    return Areas{.heap = {heap, htop}, .stack = {stop, hend}, .old_heap = {old_heap, old_htop}};
}

std::array<Span, 7> ProcessReader::heads_of(const StructView& view) const {
    // A dictionary of 16 slots, and any link or monitor.
    constexpr std::uint64_t kDictionaryBytes = 192;
    constexpr std::uint64_t kNodeBytes = 160;
    const auto at = [&](Field field, std::uint64_t bytes) {
        const auto address = view.get(field);
        return address == 0 || address % 8 != 0 ? Span{} : Span{address, address + bytes};
    };
    return {at(f_.dictionary, kDictionaryBytes),
            at(f_.links, kNodeBytes),
            at(f_.lt_monitors, kNodeBytes),
            at(f_.monitors, kNodeBytes),
            at(f_.current, sizeof(std::uint64_t) * 3),
            at(f_.reg, registered_->bytes),
            at(f_.psd, psd_bytes_)};
}

void ProcessReader::resolve(LayoutNames& names) {
    bytes_ = names.bytes(runtime::Process::kName);
    f_.id = names.field(runtime::Process::common_id);
    f_.trace_flags = names.field(runtime::Process::common_trace_flags);
    f_.started = names.field(runtime::Process::common_started_interval);
    f_.reg = names.field(runtime::Process::common_reg);
    f_.links = names.field(runtime::Process::common_links);
    f_.lt_monitors = names.field(runtime::Process::common_lt_monitors);
    f_.monitors = names.field(runtime::Process::common_monitors);
    f_.htop = names.field(runtime::Process::htop);
    f_.stop = names.field(runtime::Process::stop);
    f_.fcalls = names.field(runtime::Process::fcalls);
    f_.freason = names.field(runtime::Process::freason);
    f_.fvalue = names.field(runtime::Process::fvalue);
    f_.heap = names.field(runtime::Process::heap);
    f_.hend = names.field(runtime::Process::hend);
    f_.abandoned_heap = names.field(runtime::Process::abandoned_heap);
    f_.heap_sz = names.field(runtime::Process::heap_sz);
    f_.min_heap_size = names.field(runtime::Process::min_heap_size);
    f_.min_vheap_size = names.field(runtime::Process::min_vheap_size);
    f_.max_heap_size = names.field(runtime::Process::max_heap_size);
    f_.arity = names.field(runtime::Process::arity);
    f_.arg_reg = names.field(runtime::Process::arg_reg);
    f_.def_arg_reg = names.field(runtime::Process::def_arg_reg);
    f_.i = names.field(runtime::Process::i);
    f_.catches = names.field(runtime::Process::catches);
    f_.rcount = names.field(runtime::Process::rcount);
    f_.reds = names.field(runtime::Process::reds);
    f_.flags = names.field(runtime::Process::flags);
    f_.group_leader = names.field(runtime::Process::group_leader);
    f_.ftrace = names.field(runtime::Process::ftrace);
    f_.uniq = names.field(runtime::Process::uniq);
    f_.first = names.field(runtime::Process::sig_qs_first);
    f_.cont = names.field(runtime::Process::sig_qs_cont);
    f_.queue_flags = names.field(runtime::Process::sig_qs_flags);
    f_.dictionary = names.field(runtime::Process::dictionary);
    f_.token = names.field(runtime::Process::seq_trace_token);
    f_.initial = names.field(runtime::Process::u_initial);
    f_.current = names.field(runtime::Process::current);
    f_.parent = names.field(runtime::Process::parent);
    f_.high_water = names.field(runtime::Process::high_water);
    f_.old_hend = names.field(runtime::Process::old_hend);
    f_.old_htop = names.field(runtime::Process::old_htop);
    f_.old_heap = names.field(runtime::Process::old_heap);
    f_.gen_gcs = names.field(runtime::Process::gen_gcs);
    f_.max_gen_gcs = names.field(runtime::Process::max_gen_gcs);
    f_.off_heap_first = names.field(runtime::Process::off_heap_first);
    f_.off_heap_overhead = names.field(runtime::Process::off_heap_overhead);
    f_.wrt_bins = names.field_if_any(runtime::Process::wrt_bins);
    f_.mbuf = names.field(runtime::Process::mbuf);
    f_.msg_frag = names.field(runtime::Process::msg_frag);
    f_.mbuf_sz = names.field(runtime::Process::mbuf_sz);
    f_.psd = names.field(runtime::Process::psd);
    f_.bin_vheap_sz = names.field(runtime::Process::bin_vheap_sz);
    f_.bin_old_vheap = names.field(runtime::Process::bin_old_vheap);
    f_.bin_old_vheap_sz = names.field(runtime::Process::bin_old_vheap_sz);
    f_.state = names.field(runtime::Process::state);
    f_.inq_first = names.field(runtime::Process::sig_inq_first);
    f_.inq_last = names.field(runtime::Process::sig_inq_last);
    f_.inq_buffers = names.field_if_any(runtime::Process::sig_inq_buffers);
    f_.lock = names.field(runtime::Process::lock_flags);
    registered_.emplace(names);
    dictionary_fields_.emplace(names);
    f_.psd_data = names.field(runtime::ErtsPSD::data);
    psd_bytes_ = names.bytes(runtime::ErtsPSD::kName);
    f_.native_argc = names.field(runtime::ErtsNativeFunc::argc);
    f_.native_argv = names.field(runtime::ErtsNativeFunc::argv);
    queue_counter_.emplace(names);

    c_.free = names.constant(runtime::constant::state_free);
    c_.exiting = names.constant(runtime::constant::state_exiting);
    c_.active = names.constant(runtime::constant::state_active);
    c_.running = names.constant(runtime::constant::state_running);
    c_.suspended = names.constant(runtime::constant::state_suspended);
    c_.gc = names.constant(runtime::constant::state_gc);
    c_.active_sys = names.constant(runtime::constant::state_active_sys);
    c_.running_sys = names.constant(runtime::constant::state_running_sys);
    c_.off_heap_msgq = names.constant(runtime::constant::state_off_heap_msgq);
    c_.dirty_active_sys = names.constant(runtime::constant::state_dirty_active_sys);
    c_.dirty_running = names.constant(runtime::constant::state_dirty_running);
    c_.dirty_running_sys = names.constant(runtime::constant::state_dirty_running_sys);
    c_.priority_shift = names.constant(runtime::constant::state_user_priority_shift);
    c_.priority_mask = names.constant(runtime::constant::state_priority_mask);
    c_.trap_exit = names.constant(runtime::constant::flag_trap_exit);
    c_.hibernated = names.constant(runtime::constant::flag_hibernated);
    c_.abandoned_heap_use = names.constant(runtime::constant::flag_abandoned_heap_use);
    c_.sensitive = names.constant(runtime::constant::trace_flag_sensitive);
    c_.lock_main = names.constant(runtime::constant::lock_main);
    c_.queue_off_heap = names.constant(runtime::constant::message_queue_off_heap);
    c_.psd_error_handler = names.constant(runtime::constant::psd_error_handler);
    c_.psd_native_function = names.constant(runtime::constant::psd_native_function);
}

void ProcessReader::identity(const StructView& view, ProcessView& process) {
    auto& facts = process.facts;
    const auto initial = [&](std::size_t index) { return view.word(f_.initial, index); };
    const auto module = atoms_.index(initial(0));
    const auto function = atoms_.index(initial(1));
    if (module && function && initial(2) <= 255) {
        set_mfa(*facts.mutable_initial_call(),
                {*module, *function, static_cast<std::uint32_t>(initial(2))});
    }
    const auto instruction = view.get(f_.i);
    facts.set_instruction_address(instruction);
    // As current_function() in erl_bif_info.c: the recorded function, else that of the saved code
    // pointer.
    std::optional<CodeMfa> current;
    if (const auto noted = view.get(f_.current); noted != 0) {
        facts.set_current_address(noted);
        current = code_->mfa_at(noted);
    } else {
        current = code_->function_at(instruction);
    }
    if (current) {
        set_mfa(*facts.mutable_current_function(), *current);
    }
    if (const auto reg = view.get(f_.reg);
        reg != 0 && process.void_reason != records::VOID_REASON_EXITING) {
        const auto name = vm_->memory().word(reg + registered_->name.offset);
        if (const auto atom = name ? atoms_.index(*name) : std::nullopt) {
            facts.set_registered_name_atom(*atom);
        }
    }
    static constexpr std::array kPriorities = {"max", "high", "normal", "low"};
    facts.set_priority(
        kPriorities.at((view.get(f_.state) >> c_.priority_shift) & c_.priority_mask & 3U));
    facts.set_group_leader_word(view.get(f_.group_leader));
    facts.set_parent_word(view.get(f_.parent));
    facts.set_unique(view.get(f_.uniq));
    facts.set_started_interval(static_cast<std::int64_t>(view.get(f_.started)));
}

void ProcessReader::bounds(const StructView& view, ProcessView& process) {
    auto& facts = process.facts;
    facts.set_heap_address(view.get(f_.heap));
    facts.set_heap_top_address(view.get(f_.htop));
    facts.set_stack_top_address(view.get(f_.stop));
    facts.set_heap_end_address(view.get(f_.hend));
    facts.set_old_heap_address(view.get(f_.old_heap));
    facts.set_old_heap_top_address(view.get(f_.old_htop));
    facts.set_old_heap_end_address(view.get(f_.old_hend));
    facts.set_high_water_address(view.get(f_.high_water));
    facts.set_heap_words(view.get(f_.heap_sz));
    facts.set_fragment_words(view.get(f_.mbuf_sz));
    facts.set_off_heap_first_address(view.get(f_.off_heap_first));
    facts.set_off_heap_overhead_words(view.get(f_.off_heap_overhead));
    process.off_heap = view.get(f_.off_heap_first);
    if (f_.wrt_bins) {
        process.writable_binaries = view.get(*f_.wrt_bins);
        facts.set_writable_binaries_first_address(process.writable_binaries);
    }
    process.mbuf = view.get(f_.mbuf);
    process.msg_frag = view.get(f_.msg_frag);

    const auto areas = areas_of(view);
    if (!areas) {
        if (process.void_reason == records::VOID_REASON_NONE) {
            process.void_reason = records::VOID_REASON_IMPLAUSIBLE;
            process.void_detail = fmt::format(
                "expected heap <= htop <= stop <= hend, found {:#x}, {:#x}, {:#x}, {:#x}",
                facts.heap_address(), facts.heap_top_address(), facts.stack_top_address(),
                facts.heap_end_address());
        }
        return;
    }
    process.heap = areas->heap;
    process.stack = areas->stack;
    process.old_heap = areas->old_heap;
    // A running process keeps its tops in registers: the structure's are out of date.
    if (process.void_reason != records::VOID_REASON_RUNNING &&
        process.void_reason != records::VOID_REASON_COLLECTING) {
        facts.set_heap_used_words(process.heap.words());
        facts.set_stack_words(process.stack.words());
        facts.set_old_heap_used_words(process.old_heap.words());
    }
    facts.set_old_heap_words((facts.old_heap_end_address() - facts.old_heap_address()) / 8);
    if (const auto abandoned = view.get(f_.abandoned_heap); abandoned != 0) {
        facts.set_abandoned_heap_address(abandoned);
        process.abandoned_heap = abandoned_span(view, abandoned);
    }
}

void ProcessReader::counters(const StructView& view, ProcessView& process) {
    auto& facts = process.facts;
    const auto flags = view.get(f_.flags);
    const auto trace_flags = view.get(f_.trace_flags);
    facts.set_flags(static_cast<std::uint32_t>(flags));
    facts.set_trace_flags(trace_flags);
    facts.set_trap_exit((flags & c_.trap_exit) != 0);
    facts.set_hibernated((flags & c_.hibernated) != 0);
    facts.set_sensitive((trace_flags & c_.sensitive) != 0);
    facts.set_reductions(view.get(f_.reds));
    facts.set_remaining_reductions(static_cast<std::int64_t>(view.get(f_.fcalls)));
    facts.set_minor_collections(view.u32(f_.gen_gcs));
    facts.set_fullsweep_after(view.u32(f_.max_gen_gcs));
    facts.set_min_heap_words(view.get(f_.min_heap_size));
    facts.set_min_binary_virtual_heap_words(view.get(f_.min_vheap_size));
    facts.set_max_heap_word(view.get(f_.max_heap_size));
    facts.set_binary_virtual_heap_words(view.get(f_.bin_vheap_sz));
    facts.set_old_binary_virtual_heap_words(view.get(f_.bin_old_vheap));
    facts.set_old_binary_virtual_heap_block_words(view.get(f_.bin_old_vheap_sz));
    facts.set_suspend_count(view.get(f_.rcount));
    facts.set_catches(static_cast<std::int64_t>(view.get(f_.catches)));
    facts.set_exception_reason(view.get(f_.freason));
    facts.set_exception_value_word(view.get(f_.fvalue));
    facts.set_exception_trace_word(view.get(f_.ftrace));
    facts.set_sequential_trace_token_word(view.get(f_.token));
}

void ProcessReader::queues(const StructView& view, ProcessView& process) {
    auto& facts = process.facts;
    process.inner = view.get(f_.first);
    process.middle = view.get(f_.cont);
    process.outer = view.get(f_.inq_first);
    process.outer_last = view.get(f_.inq_last);
    process.buffers = f_.inq_buffers ? view.get(*f_.inq_buffers) : 0;
    facts.set_signal_queue_flags(static_cast<std::uint32_t>(view.get(f_.queue_flags)));
    facts.set_off_heap_message_queue((view.get(f_.queue_flags) & c_.queue_off_heap) != 0);
    const auto lengths = queue_counter_->count(*vm_, view);
    if (process.buffers != 0 && lengths.buffered) {
        facts.set_buffered_queue_length(*lengths.buffered);
    }
    if (lengths.outer) {
        facts.set_outer_queue_length(*lengths.outer);
    }
    if (const auto all = lengths.all()) {
        facts.set_message_queue_length(*all);
    }
    process.links = view.get(f_.links);
    process.local_targets = view.get(f_.lt_monitors);
    process.monitors = view.get(f_.monitors);
}

void ProcessReader::off_heap_parts(const StructView& view, ProcessView& process) {
    auto& facts = process.facts;
    process.fixed_bytes =
        bytes_ + (view.get(f_.heap_sz) + view.get(f_.mbuf_sz)) * 8 + facts.old_heap_words() * 8;
    if (process.abandoned_heap.begin != 0) {
        process.fixed_bytes += view.get(f_.hend) - view.get(f_.heap);
    }
    arguments(view, process);
    if (process.void_reason == records::VOID_REASON_EXITING) {
        return;
    }
    if (const auto dictionary = view.get(f_.dictionary); dictionary != 0) {
        if (auto read = OwnedStruct::read(vm_->memory(), dictionary, dictionary_fields_->bytes)) {
            const auto used = read->view().get(dictionary_fields_->used);
            facts.set_dictionary_entries(read->view().get(dictionary_fields_->elements));
            if (used <= kMaxDictionary) {
                const auto data = dictionary + dictionary_fields_->data.offset;
                process.dictionary = {data, data + used * 8};
            }
            process.fixed_bytes +=
                dictionary_fields_->data.offset + read->view().get(dictionary_fields_->array) * 8;
        }
    } else {
        facts.set_dictionary_entries(0);
    }
    if (const auto psd = view.get(f_.psd); psd != 0) {
        process.fixed_bytes += psd_bytes_;
        specific_data(psd, process);
    } else {
        facts.set_error_handler_word(0);
    }
}

void ProcessReader::judge(const StructView& view, bool yielded, ProcessView& process) {
    const auto state = view.get(f_.state);
    process.status = status(state);
    process.facts.set_state_bits(static_cast<std::uint32_t>(state));
    const auto name = status_name(process.status);
    process.facts.set_status(name.data(), name.size());
    if ((state & (c_.free | c_.exiting)) != 0) {
        process.void_reason = records::VOID_REASON_EXITING;
    } else if ((state & c_.gc) != 0) {
        process.void_reason = records::VOID_REASON_COLLECTING;
    } else if (yielded) {
        // It holds its own lock.
        process.void_reason = records::VOID_REASON_NONE;
    } else if ((state & (c_.running | c_.running_sys | c_.dirty_running_sys)) != 0) {
        process.void_reason = records::VOID_REASON_RUNNING;
    } else if ((view.get(f_.lock) & c_.lock_main) != 0) {
        process.void_reason = records::VOID_REASON_LOCKED;
    }
}

// erl_gc.c, delay_garbage_collection: the abandoned block is the former heap block, heap_sz words
// long; if a flag is set, its last word is the number of used words.
Span ProcessReader::abandoned_span(const StructView& view, Address abandoned) {
    const auto words = view.get(f_.heap_sz);
    if (abandoned % 8 != 0 || words == 0 || words > kMaxWords) {
        return {};
    }
    auto used = words;
    if ((view.get(f_.flags) & c_.abandoned_heap_use) != 0) {
        if (auto told = vm_->memory().word(abandoned + (words - 1) * 8); told && *told <= words) {
            used = *told;
        }
    }
    return {abandoned, abandoned + used * 8};
}

void ProcessReader::arguments(const StructView& view, ProcessView& process) {
    auto& facts = process.facts;
    const auto arity = view.get(f_.arity);
    const auto array = view.get(f_.arg_reg);
    const auto built_in = process.address + f_.def_arg_reg.offset;
    const auto built_in_count = f_.def_arg_reg.bytes / 8;
    facts.set_arity(static_cast<std::uint32_t>(std::min<std::uint64_t>(arity, UINT32_MAX)));
    facts.set_argument_array_address(array);
    if (array == built_in || array == 0) {
        for (std::uint64_t index = 0; index < std::min<std::uint64_t>(arity, built_in_count);
             ++index) {
            facts.add_argument_words(view.word(f_.def_arg_reg, index));
        }
    } else if (arity <= kMaxArguments && array % 8 == 0) {
        process.arguments = {array, array + arity * 8};
        process.fixed_bytes += arity * 8;
    }
}

void ProcessReader::specific_data(Address psd, ProcessView& process) {
    auto slots = read_words(vm_->memory(), psd + f_.psd_data.offset, f_.psd_data.bytes / 8);
    if (!slots) {
        return;
    }
    process.facts.mutable_specific_data()->Add(slots->begin(), slots->end());
    process.facts.set_error_handler_word((*slots)[c_.psd_error_handler % slots->size()]);
    const auto native = (*slots)[c_.psd_native_function % slots->size()];
    if (native != 0) {
        // erl_nfunc_sched.h: arguments saved while a native function is rescheduled are roots.
        const auto count = vm_->memory().value<std::int32_t>(native + f_.native_argc.offset);
        if (count && *count > 0 && static_cast<std::uint64_t>(*count) <= kMaxArguments) {
            const auto first = native + f_.native_argv.offset;
            process.native_arguments = {first, first + static_cast<std::uint64_t>(*count) * 8};
        }
    }
}

ProcessStatus ProcessReader::status(std::uint64_t state) const {
    // The order is erts_process_state2status()'s (erl_process.c).
    if ((state & c_.free) != 0) {
        return records::PROCESS_STATUS_FREE;
    }
    if ((state & c_.exiting) != 0) {
        return records::PROCESS_STATUS_EXITING;
    }
    if ((state & c_.gc) != 0) {
        return records::PROCESS_STATUS_GARBAGE_COLLECTING;
    }
    if ((state & c_.suspended) != 0) {
        return records::PROCESS_STATUS_SUSPENDED;
    }
    if ((state & (c_.running | c_.running_sys | c_.dirty_running | c_.dirty_running_sys)) != 0) {
        return records::PROCESS_STATUS_RUNNING;
    }
    if ((state & (c_.active | c_.active_sys | c_.dirty_active_sys)) != 0) {
        return records::PROCESS_STATUS_RUNNABLE;
    }
    return records::PROCESS_STATUS_WAITING;
}

Result<ProcessSizer> ProcessSizer::open(Vm& vm) {
    LayoutNames names(vm.layout());
    ProcessSizer sizer(vm, QueueCounter(names));
    sizer.bytes_ = names.bytes(runtime::Process::kName);
    sizer.id_ = names.field(runtime::Process::common_id);
    sizer.heap_sz_ = names.field(runtime::Process::heap_sz);
    sizer.old_heap_ = names.field(runtime::Process::old_heap);
    sizer.old_hend_ = names.field(runtime::Process::old_hend);
    sizer.mbuf_sz_ = names.field(runtime::Process::mbuf_sz);
    sizer.reds_ = names.field(runtime::Process::reds);
    RETURN_IF_ERROR(names.outcome());
    return sizer;
}

ProcessSize ProcessSizer::size(std::span<const std::byte> structure) const {
    const StructView view(structure);
    const auto old_bytes = view.get(old_hend_) - std::min(view.get(old_heap_), view.get(old_hend_));
    const auto words = [&](Field field) { return std::min(view.get(field), kMaxProcessWords); };
    return {view.get(id_),
            (words(heap_sz_) + words(mbuf_sz_)) * 8 + std::min(old_bytes, kMaxProcessWords * 8),
            queues_.count(*vm_, view).all().value_or(0), view.get(reds_)};
}

}  // namespace beamdump::beam
