#include <libdump/base/return_if_error.h>
#include <libvm/beam/checks/process_check.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace beamdump::beam {
namespace {

constexpr std::uint32_t kStackWords = 64;
constexpr std::uint32_t kDictionarySlots = 16;
/// More reductions than in decades; more words than the address space has.
constexpr std::uint64_t kManyReductions = std::uint64_t{1} << 56U;
constexpr std::uint64_t kManyWords = std::uint64_t{1} << 45U;
constexpr std::uint64_t kPlausibleMessages = std::uint64_t{1} << 36U;
constexpr std::uint64_t kStateBits = 31;  // erl_process.h: ERTS_PSFLG_MAX is bit 30 on OTP 25

}  // namespace

Result<ProcessCheck> ProcessCheck::open(Vm& vm, CodeLookup& code) {
    ASSIGN_OR_RETURN(auto atoms, AtomWords::resolve(vm.layout()));
    ASSIGN_OR_RETURN(auto pids, PidWords::of(vm));
    LayoutNames names(vm.layout());
    ProcessCheck check(vm, code, atoms, pids, names);
    check.reg_ = names.field(runtime::Process::common_reg);
    check.initial_ = names.field(runtime::Process::u_initial);
    check.arg_reg_ = names.field(runtime::Process::arg_reg);
    check.def_arg_reg_ = names.field(runtime::Process::def_arg_reg);
    check.high_water_ = names.field(runtime::Process::high_water);
    check.old_htop_ = names.field(runtime::Process::old_htop);
    check.reds_ = names.field(runtime::Process::reds);
    check.rcount_ = names.field(runtime::Process::rcount);
    check.queue_length_ =
        names.field({runtime::Process::sig_qs_len, runtime::Process::sig_qs_mq_len});
    check.outer_length_ =
        names.field({runtime::Process::sig_inq_len, runtime::Process::sig_inq_mlenoffs});
    check.catches_ = names.field(runtime::Process::catches);
    check.gen_gcs_ = names.field(runtime::Process::gen_gcs);
    check.max_gen_gcs_ = names.field(runtime::Process::max_gen_gcs);
    check.flags_ = names.field(runtime::Process::flags);
    check.state_ = names.field(runtime::Process::state);
    check.mbuf_ = names.field(runtime::Process::mbuf);
    check.mbuf_size_ = names.field(runtime::Process::mbuf_sz);
    check.min_heap_ = names.field(runtime::Process::min_heap_size);
    check.min_vheap_ = names.field(runtime::Process::min_vheap_size);
    check.off_heap_ = names.field(runtime::Process::off_heap_first);
    check.psd_ = names.field(runtime::Process::psd);
    check.dictionary_ = names.field(runtime::Process::dictionary);
    check.nil_ = names.constant(runtime::constant::nil);
    RETURN_IF_ERROR(names.outcome());
    return check;
}

bool ProcessCheck::code_address(Address address) const {
    return code_->in_code(address) ||
           std::ranges::find(vm_->tables().code_points, address, &Found::address) !=
               vm_->tables().code_points.end();
}

bool ProcessCheck::check(const ProcessView& process, const StructView& view, Checks& checks) {
    if (process.void_reason != records::VOID_REASON_NONE &&
        process.void_reason != records::VOID_REASON_IMPLAUSIBLE) {
        return false;
    }
    checks.expect("heap bounds", process.void_reason == records::VOID_REASON_NONE,
                  [&] { return process.void_detail; });
    if (process.void_reason == records::VOID_REASON_NONE) {
        heap(process, view, checks);
        stack(process, checks);
    }
    identity(process, view, checks);
    arguments(process, view, checks);
    pointers(process, view, checks);
    dictionary(process, view, checks);
    return true;
}

void ProcessCheck::heap(const ProcessView& process, const StructView& view, Checks& checks) {
    const auto begin = process.heap.begin;
    const auto end = process.stack.end;
    checks.expect("heap is mapped memory", vm_->plausible(begin, end - begin),
                  [&] { return fmt::format("expected memory from {:#x} to {:#x}", begin, end); });
    if (process.abandoned_heap.begin == 0) {
        checks.expect("heap size", process.facts.heap_words() == (end - begin) / 8, [&] {
            return fmt::format("expected {} words between heap and hend, found heap_sz {}",
                               (end - begin) / 8, process.facts.heap_words());
        });
        const auto high_water = view.get(high_water_);
        checks.expect("high_water", begin <= high_water && high_water <= end, [&] {
            return fmt::format("expected it inside the heap {:#x} to {:#x}, found {:#x}", begin,
                               end, high_water);
        });
    }
    // A collection resets htop to just above what lived, and only whole terms are built: the heap's
    // first word is a header or a cons cell's first word, never a raw address.
    checks.expect("stack top",
                  process.heap.end <= process.stack.begin && process.stack.words() < kManyWords,
                  [&] {
                      return fmt::format("expected htop at or below stop, found {:#x} and {:#x}",
                                         process.heap.end, process.stack.begin);
                  });
}

void ProcessCheck::stack(const ProcessView& process, Checks& checks) {
    const auto take = std::min<std::uint64_t>(process.stack.words(), kStackWords);
    auto words = read_words(vm_->memory(), process.stack.begin, take);
    checks.expect("stack is readable", words.has_value(),
                  [&] { return words ? std::string() : words.error().message; });
    if (!words) {
        return;
    }
    for (std::uint64_t index = 0; index < words->size(); ++index) {
        // erl_term.h: on a stack, a word with the header's primary tag is a return address. Where
        // there are frame pointers, they look the same: each leads to a frame further down.
        const auto word = (*words)[index];
        const bool frame_pointer =
            word > process.stack.begin + index * 8 && word < process.stack.end;
        if ((word & kPrimaryMask) != kPrimaryHeader || word == 0 || frame_pointer ||
            word == vm_->facts().non_value) {
            continue;
        }
        checks.expect("return addresses", code_address(word), [&] {
            return fmt::format("expected an address in loaded code, found {:#x}", word);
        });
    }
    if (process.status == records::PROCESS_STATUS_WAITING) {
        const auto instruction = process.facts.instruction_address();
        checks.expect("instruction pointer", code_address(instruction), [&] {
            return fmt::format("expected an address in loaded code, found {:#x}", instruction);
        });
    }
}

void ProcessCheck::identity(const ProcessView& process, const StructView& view, Checks& checks) {
    checks.expect("initial call", process.facts.has_initial_call(), [&] {
        return fmt::format("expected module, function, arity; found {:#x}, {:#x}, {}",
                           view.word(initial_, 0), view.word(initial_, 1), view.word(initial_, 2));
    });
    const auto leader = process.facts.group_leader_word();
    checks.expect("group leader",
                  pids_.owner_id(leader).has_value() || (leader & kPrimaryMask) == kPrimaryBoxed ||
                      leader == nil_,
                  [&] { return fmt::format("expected a pid, found {:#x}", leader); });
    if (const auto reg = view.get(reg_); reg != 0) {
        auto entry = OwnedStruct::read(vm_->memory(), reg, registered_.bytes);
        const bool fits = entry && entry->view().get(registered_.process) == process.address &&
                          atoms_.index(entry->view().get(registered_.name)).has_value();
        checks.expect("registered name", fits, [&] {
            return fmt::format("expected an entry that names process {:#x} at {:#x}",
                               process.address, reg);
        });
    }
    checks.expect("reductions", view.get(reds_) < kManyReductions,
                  [&] { return fmt::format("found {}", view.get(reds_)); });
    checks.expect("state", (view.get(state_) >> kStateBits) == 0,
                  [&] { return fmt::format("found {:#x}", view.get(state_)); });
    checks.expect("collections", view.get(gen_gcs_) <= view.get(max_gen_gcs_), [&] {
        return fmt::format("expected at most {} minor collections, found {}",
                           view.get(max_gen_gcs_), view.get(gen_gcs_));
    });
    checks.expect("suspend count", view.get(rcount_) < (1U << 20U),
                  [&] { return fmt::format("found {}", view.get(rcount_)); });
}

void ProcessCheck::arguments(const ProcessView& process, const StructView& view, Checks& checks) {
    const auto array = view.get(arg_reg_);
    checks.expect("argument registers",
                  array == process.address + def_arg_reg_.offset || vm_->plausible(array, 8), [&] {
                      return fmt::format("expected {:#x} or an array, found {:#x}",
                                         process.address + def_arg_reg_.offset, array);
                  });
    checks.expect("arity", process.facts.arity() <= 255,
                  [&] { return fmt::format("found {}", process.facts.arity()); });
    checks.expect("catches", view.get(catches_) < (1U << 24U),
                  [&] { return fmt::format("found {}", view.get(catches_)); });
}

void ProcessCheck::pointers(const ProcessView& process, const StructView& view, Checks& checks) {
    const std::array addresses = {std::pair{"heap fragments", view.get(mbuf_)},
                                  std::pair{"off-heap list", view.get(off_heap_)},
                                  std::pair{"specific data", view.get(psd_)},
                                  std::pair{"inner queue", process.inner},
                                  std::pair{"middle queue", process.middle},
                                  std::pair{"outer queue", process.outer},
                                  std::pair{"queue buffers", process.buffers},
                                  std::pair{"links", process.links},
                                  std::pair{"monitors", process.monitors},
                                  std::pair{"targets", process.local_targets},
                                  std::pair{"received messages", process.msg_frag},
                                  std::pair{"writable binaries", process.writable_binaries},
                                  std::pair{"current function", process.facts.current_address()}};
    for (const auto& address : addresses) {
        checks.expect(
            address.first, address.second == 0 || vm_->plausible(address.second, 8), [&address] {
                return fmt::format("expected a pointer or 0, found {:#x}", address.second);
            });
    }
    const std::array sizes = {std::pair{"fragment words", view.get(mbuf_size_)},
                              std::pair{"min_heap_size", view.get(min_heap_)},
                              std::pair{"min_vheap_size", view.get(min_vheap_)}};
    for (const auto& size : sizes) {
        checks.expect(size.first, size.second < kManyWords,
                      [&size] { return fmt::format("found {}", size.second); });
    }
    const std::array counts = {std::pair{"message count", view.get(queue_length_)},
                               std::pair{"outer message count", view.get(outer_length_)}};
    for (const auto& count : counts) {
        checks.expect(count.first, count.second < kPlausibleMessages,
                      [&count] { return fmt::format("found {}", count.second); });
    }
    checks.expect("message counts and queues",
                  view.get(queue_length_) == 0 || process.inner != 0 || process.middle != 0, [&] {
                      return fmt::format("expected a queue that holds {} messages, found none",
                                         view.get(queue_length_));
                  });
}

void ProcessCheck::dictionary(const ProcessView& /*process*/, const StructView& view,
                              Checks& checks) {
    const auto address = view.get(dictionary_);
    checks.expect("dictionary", address == 0 || vm_->plausible(address, dictionary_fields_.bytes),
                  [&] { return fmt::format("expected a pointer or 0, found {:#x}", address); });
    auto read = OwnedStruct::read(vm_->memory(), address, dictionary_fields_.bytes);
    if (address == 0 || !read) {
        return;
    }
    const auto used = read->view().get(dictionary_fields_.used);
    const auto array = read->view().get(dictionary_fields_.array);
    checks.expect("dictionary sizes",
                  used <= array && array < (1U << 28U) &&
                      read->view().get(dictionary_fields_.elements) < (1U << 28U),
                  [&] {
                      return fmt::format(
                          "expected no more slots used than there are, found {} of {}, {} elements",
                          used, array, read->view().get(dictionary_fields_.elements));
                  });
    auto slots = read_words(vm_->memory(), address + dictionary_fields_.data.offset,
                            std::min<std::uint64_t>(used, kDictionarySlots));
    for (const auto slot : slots.value_or(std::vector<std::uint64_t>())) {
        const auto tag = slot & kPrimaryMask;
        checks.expect(
            "dictionary slots", slot == nil_ || tag == kPrimaryList || tag == kPrimaryBoxed,
            [&] { return fmt::format("expected [], a tuple or a list, found {:#x}", slot); });
    }
}

}  // namespace beamdump::beam
