// The parts of a process outside its heap: queues, dictionary, argument registers, process-specific
// data; and the names of all fields that ProcessReader uses.

#include <libvm/beam/processes/process.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kMaxArguments = 1024;        // MAX_REG, erl_vm.h
constexpr std::uint64_t kMaxDictionary = 1U << 28U;  // slots

}  // namespace

void ProcessReader::resolve(LayoutNames& names) {
    const auto process = [&](std::string_view name) { return names.field("Process", name); };
    bytes_ = names.bytes("Process");
    f_.id = process("common.id");
    f_.trace_flags = process("common.trace_flags");
    f_.started = process("common.started_interval");
    f_.reg = process("common.reg");
    f_.links = process("common.links");
    f_.lt_monitors = process("common.lt_monitors");
    f_.monitors = process("common.monitors");
    f_.htop = process("htop");
    f_.stop = process("stop");
    f_.fcalls = process("fcalls");
    f_.freason = process("freason");
    f_.fvalue = process("fvalue");
    f_.heap = process("heap");
    f_.hend = process("hend");
    f_.abandoned_heap = process("abandoned_heap");
    f_.heap_sz = process("heap_sz");
    f_.min_heap_size = process("min_heap_size");
    f_.min_vheap_size = process("min_vheap_size");
    f_.max_heap_size = process("max_heap_size");
    f_.arity = process("arity");
    f_.arg_reg = process("arg_reg");
    f_.def_arg_reg = process("def_arg_reg");
    f_.i = process("i");
    f_.catches = process("catches");
    f_.rcount = process("rcount");
    f_.reds = process("reds");
    f_.flags = process("flags");
    f_.group_leader = process("group_leader");
    f_.ftrace = process("ftrace");
    f_.uniq = process("uniq");
    f_.first = process("sig_qs.first");
    f_.cont = process("sig_qs.cont");
    f_.queue_flags = process("sig_qs.flags");
    f_.dictionary = process("dictionary");
    f_.token = process("seq_trace_token");
    f_.initial = process("u.initial");
    f_.current = process("current");
    f_.parent = process("parent");
    f_.high_water = process("high_water");
    f_.old_hend = process("old_hend");
    f_.old_htop = process("old_htop");
    f_.old_heap = process("old_heap");
    f_.gen_gcs = process("gen_gcs");
    f_.max_gen_gcs = process("max_gen_gcs");
    f_.off_heap_first = process("off_heap.first");
    f_.off_heap_overhead = process("off_heap.overhead");
    f_.wrt_bins = process("wrt_bins");
    f_.mbuf = process("mbuf");
    f_.msg_frag = process("msg_frag");
    f_.mbuf_sz = process("mbuf_sz");
    f_.psd = process("psd");
    f_.bin_vheap_sz = process("bin_vheap_sz");
    f_.bin_old_vheap = process("bin_old_vheap");
    f_.bin_old_vheap_sz = process("bin_old_vheap_sz");
    f_.state = process("state");
    f_.inq_first = process("sig_inq.first");
    f_.inq_last = process("sig_inq.last");
    f_.inq_buffers = process("sig_inq_buffers");
    f_.lock = process("lock.flags");
    registered_.emplace(names);
    dictionary_fields_.emplace(names);
    f_.psd_data = names.field("ErtsPSD", "data");
    psd_bytes_ = names.bytes("ErtsPSD");
    f_.native_argc = names.field("ErtsNativeFunc", "argc");
    f_.native_argv = names.field("ErtsNativeFunc", "argv");
    queue_counter_.emplace(names);

    c_.free = names.constant("state_free");
    c_.exiting = names.constant("state_exiting");
    c_.active = names.constant("state_active");
    c_.running = names.constant("state_running");
    c_.suspended = names.constant("state_suspended");
    c_.gc = names.constant("state_gc");
    c_.active_sys = names.constant("state_active_sys");
    c_.running_sys = names.constant("state_running_sys");
    c_.off_heap_msgq = names.constant("state_off_heap_msgq");
    c_.dirty_active_sys = names.constant("state_dirty_active_sys");
    c_.dirty_running = names.constant("state_dirty_running");
    c_.dirty_running_sys = names.constant("state_dirty_running_sys");
    c_.priority_shift = names.constant("state_user_priority_shift");
    c_.priority_mask = names.constant("state_priority_mask");
    c_.trap_exit = names.constant("flag_trap_exit");
    c_.hibernated = names.constant("flag_hibernated");
    c_.abandoned_heap_use = names.constant("flag_abandoned_heap_use");
    c_.sensitive = names.constant("trace_flag_sensitive");
    c_.lock_main = names.constant("lock_main");
    c_.queue_off_heap = names.constant("message_queue_off_heap");
    c_.psd_error_handler = names.constant("psd_error_handler");
    c_.psd_native_function = names.constant("psd_native_function");
}

void ProcessReader::queues(const StructView& view, ProcessView& process) {
    auto& facts = process.facts;
    process.inner = view.get(f_.first);
    process.middle = view.get(f_.cont);
    process.outer = view.get(f_.inq_first);
    process.outer_last = view.get(f_.inq_last);
    process.buffers = view.get(f_.inq_buffers);
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

}  // namespace beamdump::beam
