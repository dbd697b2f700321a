#include <libdump/base/return_if_error.h>
#include <libsample/stack/process_stacks.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace beamdump::sampler {
namespace {

/// `registers` is the first member of ErtsSchedulerData (erl_process.h, OTP 25 to 29).
constexpr Address kRegisters = 0;
constexpr std::uint64_t kMostNativeWords = std::uint64_t{1} << 16U;
/// Behind a call of native code the JIT's code takes the stack back at once.
constexpr std::size_t kCodeBehind = 16;

}  // namespace

bool notes_function(std::string_view fragment) {
    return fragment == "call_bif_shared" || fragment == "call_nif_shared";
}

/// The JIT calls native code on the thread's stack just below the scheduler's registers, which are
/// themselves on that stack (ErtsSchedulerRegisters, runtime_stack; jit/x86/beam_asm.hpp,
/// emit_enter_runtime()): the call pushes its return address there.
Result<Address> ProcessStacks::return_slot(Address scheduler) {
    ASSIGN_OR_RETURN(const auto registers, parts_.node.vm().bulk().word(scheduler + kRegisters));
    if (registers % 8 != 0 || registers < 8) {
        return fail(ErrorCode::kImplausible, "a scheduler's registers are at no word's address");
    }
    return registers - 8;
}

std::optional<Address> ProcessStacks::native_return(Address scheduler, const Sample& sample) {
    const auto slot = return_slot(scheduler);
    const auto top = sample.at(Register::kRsp);
    if (!slot || (!sample.in_kernel && parts_.node.in_code(sample.place)) || top % 8 != 0 ||
        *slot < top || *slot - top + 8 > sample.stack.size()) {
        return std::nullopt;
    }
    Address returns_to = 0;
    std::memcpy(&returns_to, sample.stack.data() + (*slot - top), sizeof(returns_to));
    return parts_.node.in_code(returns_to) ? std::optional(returns_to) : std::nullopt;
}

bool ProcessStacks::is_in_call_of(Address scheduler, const Sample& sample) {
    // The return address, then the scheduler's registers: kCallPlace and kExportEntry of them.
    constexpr std::size_t kWords = 4;
    static_assert(8 + kExportEntry == (kWords - 1) * 8);
    std::array<std::uint64_t, kWords> then{}, now{};
    const auto slot = return_slot(scheduler);
    const auto top = sample.at(Register::kRsp);
    if (!slot || *slot < top || *slot - top + sizeof(then) > sample.stack.size() ||
        !parts_.node.vm().bulk().read(*slot, std::as_writable_bytes(std::span(now)))) {
        return false;
    }
    std::memcpy(then.data(), sample.stack.data() + (*slot - top), sizeof(then));
    const bool light = parts_.node.shared().name_at(then[0]) == kLightBif;
    return then[0] == now[0] && (!light || (then[2] == now[2] && then[3] == now[3]));
}

Result<Address> ProcessStacks::current_process(Address scheduler) {
    return parts_.node.vm().bulk().word(scheduler + parts_.current_process.offset);
}

/// Whether the code at a return address begins with `mov rsp, [r13 + stop]`, that is, whether the
/// call has left the stack's top in the process's structure (emit_leave_runtime<eStack>()). Without
/// that it is in a register that native code may have saved anywhere.
bool ProcessStacks::takes_saved_stack(Address returns_to) {
    std::array<std::byte, kCodeBehind> code{};
    if (!parts_.node.vm().memory().read(returns_to, code)) {
        return false;
    }
    const std::array wanted = {std::byte{0x49}, std::byte{0x8b}, std::byte{0x65},
                               static_cast<std::byte>(parts_.stop.offset)};
    return parts_.stop.offset < 0x80 && !std::ranges::search(code, wanted).empty();
}

bool ProcessStacks::calls_by_register(Address returns_to) {
    // `call reg` is FF /2 with a register: FF D0 to FF D7, behind a prefix for r8 to r15.
    std::array<std::byte, 2> code{};
    return parts_.node.vm().memory().read(returns_to - code.size(), code) &&
           code[0] == std::byte{0xff} && (code[1] & std::byte{0xf8}) == std::byte{0xd0};
}

std::optional<std::string> ProcessStacks::bif_of(Address export_entry) {
    const auto function = parts_.node.code().mfa_at(export_entry + parts_.export_mfa.offset);
    return function ? std::optional(parts_.node.function_text(*function)) : std::nullopt;
}

std::optional<std::string> ProcessStacks::light_bif(Address scheduler) {
    auto& memory = parts_.node.vm().bulk();
    const auto registers = memory.word(scheduler + kRegisters);
    const auto entry = registers ? memory.word(*registers + kExportEntry) : registers;
    return entry ? bif_of(*entry) : std::nullopt;
}

Result<StackTry> ProcessStacks::native(const beam::IdSlot& slot, Address scheduler,
                                       std::optional<Address> returns_to,
                                       const std::function<bool()>& stands) {
    auto& node = parts_.node;
    auto& memory = node.vm().bulk();
    const auto missed = [](StackMiss miss) { return StackTry{.miss = miss}; };
    const auto place = return_slot(scheduler);
    const auto to = place ? memory.word(*place) : place;
    ASSIGN_OR_RETURN(const auto read, parts_.proof.read(slot.address, before_));
    if (!to || !read) {
        return missed(StackMiss::kExiting);
    }
    const auto busy = parts_.proof.busy(before_);
    if (busy != records::VOID_REASON_RUNNING) {
        return missed(busy == records::VOID_REASON_COLLECTING ? StackMiss::kCollecting
                                                              : StackMiss::kChanged);
    }
    const auto fragment = node.shared().name_at(*to);
    if (!node.in_code(*to) || (returns_to && *to != *returns_to) || !takes_saved_stack(*to) ||
        (fragment && *fragment != kLightBif && !notes_function(*fragment))) {
        return missed(StackMiss::kRunning);
    }
    const auto called = fragment && *fragment == kLightBif ? light_bif(scheduler) : std::nullopt;
    if (fragment && *fragment == kLightBif && !called) {
        return missed(StackMiss::kRunning);
    }
    node.vm().forget();
    ASSIGN_OR_RETURN(const auto process, decode(slot, before_.structure));
    if (!process || process->stack.begin == 0) {
        return missed(StackMiss::kChanged);
    }
    words_.resize(std::min(process->stack.words(), kMostNativeWords));
    const auto words = memory.read(process->stack.begin, std::as_writable_bytes(std::span(words_)));
    auto who = identity(*process, static_cast<bool>(stands));
    const auto unchanged = [&]() -> Result<bool> {
        ASSIGN_OR_RETURN(const auto again, parts_.proof.read(slot.address, after_));
        std::vector<std::uint64_t> second(words_.size());
        const auto reread =
            memory.read(process->stack.begin, std::as_writable_bytes(std::span(second)));
        const auto to_again = memory.word(*place);
        return again && reread && to_again && *to_again == *to && second == words_ &&
               before_.structure == after_.structure;
    };
    ASSIGN_OR_RETURN(const auto held, stands ? Result<bool>(stands()) : unchanged());
    if (!words || !held) {
        return missed(StackMiss::kRunning);
    }
    auto frames = walk([&] {
        // Minus one: the call may be the last instruction of its function.
        return walk_stack(rules_of(node), fragment ? *to : *to - 1,
                          {process->stack.begin, words_, process->stack.end}, parts_.frames);
    });
    auto found = shown(*process, StackProof::kNative, std::move(frames), std::move(who));
    if (found && found->stack && called) {
        found->stack->frames.front() = *called;
    }
    return found;
}

}  // namespace beamdump::sampler
