#include "fake_vm/fake_process.h"

#include <algorithm>
#include <stdexcept>

namespace beamdump::test {
namespace {

constexpr std::uint64_t kList = 1;

}  // namespace

FakeProcess::FakeProcess(FakeVm& vm, std::uint32_t slot, const FakeModule& module,
                         std::size_t heap_words)
    : vm_(&vm), slot_(slot), structure_(vm.make("Process")) {
    const auto heap = vm.heap.place(heap_words * 8);
    const auto end = heap + heap_words * 8;
    structure_.set("common.id", pid())
        .set("heap", heap)
        .set("htop", heap)
        .set("stop", end)
        .set("hend", end)
        .set("heap_sz", heap_words)
        .set("high_water", heap)
        .set("min_heap_size", 233)
        .set("min_vheap_size", 46422)
        .set("max_gen_gcs", 65535)
        .set("fcalls", 4000)
        .set("reds", 100 + slot)
        .set("i", module.functions.front() + 8)
        .set("arg_reg", structure_.at("def_arg_reg"))
        .set("group_leader", pid())
        .set("parent", pid())
        .set("off_heap.first", 0)
        .set("sig_inq.last", structure_.at("sig_inq.first"))
        .set("state", std::uint64_t{2} << vm.constant("state_user_priority_shift"));
    structure_.set_word("u.initial", 0, module.name)
        .set_word("u.initial", 1, vm.atom("init"))
        .set_word("u.initial", 2, 1);
    push(vm.normal_exit());
    push(module.functions.back() + 16);
    vm.put_slot(slot, address());
}

std::vector<std::byte> FakeProcess::bytes() const {
    std::vector<std::byte> copy(structure_.bytes());
    if (auto done = vm_->memory.read(address(), copy); !done) {
        throw std::logic_error(done.error().message);
    }
    return copy;
}

Address FakeProcess::build(const std::vector<std::uint64_t>& words) {
    const auto top = structure_.get("htop");
    if (top + words.size() * 8 > structure_.get("stop")) {
        throw std::logic_error("a fake process's heap is full");
    }
    vm_->memory.put_bytes(top, std::as_bytes(std::span(words)));
    structure_.set("htop", top + words.size() * 8);
    return top;
}

void FakeProcess::push(std::uint64_t word) {
    const auto stop = structure_.get("stop") - 8;
    vm_->memory.put(stop, word);
    structure_.set("stop", stop);
}

std::uint64_t FakeProcess::cons(std::uint64_t head, std::uint64_t tail) {
    return build({head, tail}) | kList;
}

std::uint64_t FakeProcess::tuple(std::vector<std::uint64_t> elements) {
    elements.insert(elements.begin(), vm_->header(elements.size(), 0));
    return build(elements) | kBoxed;
}

void FakeProcess::own(Address thing) {
    vm_->at("OffHeapHeader", thing).set("next", off_heap());
    structure_.set("off_heap.first", thing);
}

std::uint64_t FakeProcess::binary(Address binary, std::uint64_t bytes) {
    auto& vm = *vm_;
    const auto content = vm.at("Binary", binary).at("orig_bytes");
    const bool whole = vm.has("ProcBin");
    const std::string structure = whole ? "ProcBin" : "BinRef";
    const auto words = vm.bytes(structure) / 8;
    const auto thing = build(std::vector<std::uint64_t>(words));
    auto reference = vm.at(structure, thing);
    reference
        .set("thing_word",
             vm.header(words - 1, vm.constant({"refc_binary_subtag", "bin_ref_subtag"})))
        .set("val", binary)
        .set_if_any("size", bytes)
        .set_if_any("bytes", content);
    own(thing);
    if (whole) {
        return thing | kBoxed;
    }
    const auto bits_words = vm.bytes("ErlSubBits") / 8;
    const auto bits = build(std::vector<std::uint64_t>(bits_words));
    vm.at("ErlSubBits", bits)
        .set("thing_word", vm.header(bits_words - 1, vm.constant("sub_bits_subtag")))
        .set("base_flags", content)
        .set("end", bytes * 8)
        .set("orig", thing | kBoxed);
    return bits | kBoxed;
}

std::uint64_t FakeProcess::part(Address binary, std::uint64_t first_byte, std::uint64_t bytes) {
    auto& vm = *vm_;
    const auto thing = off_heap() | kBoxed;
    if (vm.has("ProcBin")) {
        constexpr std::uint64_t kSubBinarySubtag = 0x28;  // erl_term.h, SUB_BINARY_SUBTAG (OTP 25)
        return build({vm.header(3, kSubBinarySubtag), bytes, first_byte, 0, thing}) | kBoxed;
    }
    const auto content = vm.at("Binary", binary).at("orig_bytes");
    return build({vm.header(4, vm.constant("sub_bits_subtag")), content, first_byte * 8,
                  (first_byte + bytes) * 8, thing}) |
           kBoxed;
}

std::uint64_t FakeProcess::magic(Address binary) {
    const auto words = vm_->bytes("MagicRef") / 8;
    const auto thing = build(std::vector<std::uint64_t>(words));
    vm_->at("MagicRef", thing).set("mb", binary);
    vm_->memory.put(thing, vm_->header(words - 1, vm_->constant("reference_subtag")));
    own(thing);
    return thing | kBoxed;
}

// erl_fun.h: up to OTP 26 the counts are in words of their own; in 27 the environment's size is in
// the header, and its last word is a FunRef; in 29 the header also says the kind.
std::uint64_t FakeProcess::fun(Address entry, const std::vector<std::uint64_t>& environment) {
    auto& vm = *vm_;
    auto values = environment;
    const auto subtag = vm.constant("fun_subtag");
    if (vm.has("FunRef")) {
        const auto words = vm.bytes("FunRef") / 8;
        const auto thing = build(std::vector<std::uint64_t>(words));
        vm.at("FunRef", thing)
            .set("thing_word", vm.header(words - 1, vm.constant("fun_ref_subtag")))
            .set("entry", entry);
        own(thing);
        values.push_back(thing | kBoxed);
    }
    const bool counted = vm.at("ErlFunThing", 0).has("num_free");
    const auto fixed = vm.at("ErlFunThing", 0).at("env") / 8;
    std::vector<std::uint64_t> words(fixed);
    words.insert(words.end(), values.begin(), values.end());
    const auto thing = build(words);
    auto fun = vm.at("ErlFunThing", thing);
    fun.set("entry", entry);
    if (counted) {
        fun.set("thing_word", vm.header(fixed - 2, subtag))
            .set("num_free", values.size())
            .set("arity", 1)
            .set("creator", pid());
        own(thing);
    } else {
        fun.set("thing_word", std::uint64_t{values.size()} << 16U | 1U << 8U | subtag);
    }
    return thing | kBoxed;
}

std::uint64_t FakeProcess::external_fun(Address exported) {
    auto& vm = *vm_;
    if (vm.is_otp_24()) {
        constexpr std::uint64_t kExportSubtag = 0x1C;  // erl_term.h, EXPORT_SUBTAG
        return build({vm.header(1, kExportSubtag), exported}) | kBoxed;
    }
    const bool counted = vm.at("ErlFunThing", 0).has("num_free");
    const auto fixed = vm.at("ErlFunThing", 0).at("env") / 8;
    const auto thing = build(std::vector<std::uint64_t>(fixed));
    auto fun = vm.at("ErlFunThing", thing);
    fun.set("entry", exported);
    const auto subtag = vm.constant("fun_subtag");
    if (counted) {
        fun.set("thing_word", vm.header(fixed - 2, subtag)).set("creator", vm.atom("undefined"));
    } else {
        const std::uint64_t kind = vm.has("FunRef") ? 0 : 0x100;
        fun.set("thing_word", kind << 16U | 1U << 8U | subtag);
    }
    return thing | kBoxed;
}

void FakeProcess::dictionary(const std::vector<std::uint64_t>& slots) {
    auto dictionary = vm_->make("ProcDict", slots.size() * 8);
    dictionary.set("usedSlots", slots.size())
        .set("arraySize", slots.size())
        .set("numElements", slots.size());
    vm_->memory.put_bytes(dictionary.at("data"), std::as_bytes(std::span(slots)));
    structure_.set("dictionary", dictionary.address());
}

FakeStruct FakeProcess::specific_data() {
    auto data = vm_->make("ErtsPSD");
    structure_.set("psd", data.address());
    return data;
}

void FakeProcess::old_heap(const std::vector<std::uint64_t>& words) {
    const auto begin = vm_->heap.place_words(words);
    const auto end = vm_->heap.place(64);
    structure_.set("old_heap", begin).set("old_htop", end).set("old_hend", end + 64);
}

FakeStruct FakeProcess::fragment(const std::vector<std::uint64_t>& words) {
    auto fragment = make_fragment(*vm_, words);
    fragment.set("next", structure_.get("mbuf"));
    structure_.set("mbuf", fragment.address());
    structure_.set("mbuf_sz", structure_.get("mbuf_sz") + words.size());
    return fragment;
}

FakeStruct make_fragment(FakeVm& vm, const std::vector<std::uint64_t>& words) {
    auto fragment = vm.make("ErlHeapFragment", words.size() * 8);
    fragment.set("alloc_size", words.size()).set("used_size", words.size());
    vm.memory.put_bytes(fragment.at("mem"), std::as_bytes(std::span(words)));
    return fragment;
}

}  // namespace beamdump::test
