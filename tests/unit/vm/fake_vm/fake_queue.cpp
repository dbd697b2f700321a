#include "fake_vm/fake_queue.h"

namespace beamdump::test {
namespace {

struct QueueFields {
    std::string first;
    std::vector<std::string_view> length;  ///< the first that the layout has
};

QueueFields fields_of(FakeQueue queue) {
    switch (queue) {
        case FakeQueue::kInner:
            return {"sig_qs.first", {"sig_qs.len", "sig_qs.mq_len"}};
        case FakeQueue::kMiddle:
            return {"sig_qs.cont", {"sig_qs.len", "sig_qs.mlenoffs"}};
        case FakeQueue::kOuter:
            break;
    }
    return {"sig_inq.first", {"sig_inq.len", "sig_inq.mlenoffs"}};
}

void count(FakeStruct& structure, const std::vector<std::string_view>& names) {
    for (const auto name : names) {
        if (structure.has(name)) {
            structure.set(name, structure.get(name) + 1);
            return;
        }
    }
}

/// Links a block to the end of a queue.
void append(FakeVm& vm, FakeProcess& process, FakeQueue queue, FakeStruct block) {
    auto& structure = process.structure();
    auto link = structure.at(fields_of(queue).first);
    while (vm.memory.word(link).value() != 0) {
        link = vm.at("ErtsMessage", vm.memory.word(link).value()).at("next");
    }
    vm.memory.put(link, block.address());
    if (queue == FakeQueue::kOuter) {
        structure.set("sig_inq.last", block.at("next"));
    }
}

}  // namespace

FakeStruct add_message(FakeVm& vm, FakeProcess& process, FakeQueue queue, std::uint64_t term,
                       std::uint64_t attached) {
    auto message = vm.make("ErtsMessage", 256);
    message.set("data", attached)
        .set_word("m", 0, term)
        .set_word("m", 1, vm.constant("nil"))
        .set_word("m", 2, process.pid());
    append(vm, process, queue, message);
    count(process.structure(), fields_of(queue).length);
    return message;
}

FakeStruct add_combined_message(FakeVm& vm, FakeProcess& process, FakeQueue queue,
                                const std::vector<std::uint64_t>& words) {
    auto message = add_message(vm, process, queue, 0, vm.constant("combined_message_marker"));
    auto fragment = vm.at("ErlHeapFragment", message.at("hfrag"));
    fragment.set("alloc_size", words.size()).set("used_size", words.size());
    vm.memory.put_bytes(fragment.at("mem"), std::as_bytes(std::span(words)));
    message.set_word("m", 0, fragment.at("mem") | kBoxed);
    return message;
}

FakeStruct add_external_message(FakeVm& vm, FakeProcess& process, FakeQueue queue,
                                const std::vector<std::string>& parts,
                                const std::vector<std::uint64_t>& atoms) {
    auto fragment = vm.make("ErlHeapFragment", vm.bytes("ErtsDistExternal"));
    auto external = vm.at("ErtsDistExternal", fragment.at("mem"));
    const auto each = vm.bytes("ErtsDistExternalData");
    const auto data = vm.heap.place(each * parts.size());
    for (std::size_t part = 0; part < parts.size(); ++part) {
        const auto begin = vm.heap.place_text(parts[part]);
        vm.at("ErtsDistExternalData", data + part * each)
            .set("frag_id", parts.size() - part)
            .set("extp", begin)
            .set("ext_endp", begin + parts[part].size());
    }
    auto table = vm.at("ErtsAtomTranslationTable", external.at("attab"));
    table.set("size", atoms.size() + 1);
    for (std::size_t index = 0; index < atoms.size(); ++index) {
        table.set_word("atom", index, atoms[index]);
    }
    external.set("data", data).set("flags", atoms.empty() ? 0 : vm.constant("external_flag_atoms"));
    return add_message(vm, process, queue, vm.constant("non_value"), fragment.address());
}

FakeStruct add_signal(FakeVm& vm, FakeProcess& process, FakeQueue queue, std::uint64_t operation,
                      std::uint64_t type) {
    auto signal = vm.make("ErtsMessage", 64);
    signal.set_word("m", 0, vm.header(operation | type << 8U, vm.constant("external_pid_subtag")));
    vm.at("ErlHeapFragment", signal.at("hfrag")).set("alloc_size", 3).set("used_size", 3);
    append(vm, process, queue, signal);
    return signal;
}

FakeStruct count_before_signals(FakeVm& vm, FakeStruct queue, const std::string& prefix,
                                const std::vector<std::uint64_t>& messages) {
    // Each is found through the address of the pointer to it.
    std::vector<Address> places;
    std::vector<FakeStruct> signals;
    for (const auto number : messages) {
        signals.push_back(vm.make("ErtsNonMsgSignal"));
        signals.back().set("mlenoffs", number);
        places.push_back(vm.heap.place_words({signals.back().address()}));
    }
    for (std::size_t index = 0; index + 1 < signals.size(); ++index) {
        signals[index].set("specific.next", places[index + 1]);
    }
    queue.set(prefix + ".nmsigs.next", places.front()).set(prefix + ".nmsigs.last", places.back());
    return signals.front();
}

FakeStruct add_buffers(FakeVm& vm, FakeProcess& process) {
    auto buffers = vm.make("ErtsSignalInQueueBufferArray");
    process.structure().set("sig_inq_buffers", buffers.address());
    return buffers;
}

FakeStruct buffer_of(FakeVm& vm, const FakeStruct& buffers, std::size_t slot) {
    return vm.at("ErtsSignalInQueueBuffer",
                 buffers.at("slots") + slot * vm.bytes("ErtsSignalInQueueBuffer"));
}

FakeStruct add_buffered_message(FakeVm& vm, FakeStruct buffer, std::uint64_t term) {
    auto message = vm.make("ErtsMessage");
    message.set_word("m", 0, term).set_word("m", 1, vm.constant("nil"));
    buffer.set("queue.first", message.address()).set("queue.last", message.at("next"));
    count(buffer, {"queue.len", "queue.mlenoffs"});
    return message;
}

}  // namespace beamdump::test
