#include <libdump/base/return_if_error.h>
#include <libvm/arch/known_code.h>
#include <libvm/arch/x86_64/function_start.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/processes/yield_state.h>

#include <algorithm>
#include <cstring>

namespace beamdump::beam {
namespace {

using arch::x86_64::is_function_start;
using arch::x86_64::kFunctionStartBytes;
using arch::x86_64::kStartInstructions;

void put(std::span<std::byte> structure, Field field, std::uint64_t value) {
    std::memcpy(structure.data() + field.offset, &value, field.bytes);
}

}  // namespace

Result<YieldState> YieldState::open(const Layout& layout) {
    ASSIGN_OR_RETURN(auto atoms, AtomWords::resolve(layout));
    LayoutNames names(layout);
    YieldState result(atoms, MfaFields(names));
    result.heap_ = names.field(runtime::Process::heap);
    result.hend_ = names.field(runtime::Process::hend);
    result.htop_ = names.field(runtime::Process::htop);
    result.stop_ = names.field(runtime::Process::stop);
    result.i_ = names.field(runtime::Process::i);
    result.current_ = names.field(runtime::Process::current);
    result.arity_ = names.field(runtime::Process::arity);
    result.arg_reg_ = names.field(runtime::Process::arg_reg);
    result.fcalls_ = names.field(runtime::Process::fcalls);
    result.state_ = names.field(runtime::Process::state);
    result.running_ = names.constant(runtime::constant::state_running);
    result.collecting_ = names.constant(runtime::constant::state_gc);
    result.otherwise_ = names.constant(runtime::constant::state_free) |
                        names.constant(runtime::constant::state_exiting) |
                        names.constant(runtime::constant::state_running_sys) |
                        names.constant(runtime::constant::state_dirty_running) |
                        names.constant(runtime::constant::state_dirty_running_sys);
    RETURN_IF_ERROR(names.outcome());
    result.known_code_ = arch::knows_code(layout.architecture());
    return result;
}

std::optional<std::uint64_t> YieldState::arity_of(std::span<const std::byte> mfa) const {
    const StructView view(mfa);
    const auto arity = view.get(mfa_.arity);
    const bool named = atoms_.index(view.get(mfa_.module)) && atoms_.index(view.get(mfa_.function));
    return named && arity <= 255 ? std::optional(arity) : std::nullopt;
}

std::optional<YieldState::State> YieldState::state_of(const target::ThreadRegisters& thread,
                                                      memory::MemorySource& memory) const {
    const auto& jit = thread.jit;
    if (!known_code_ || ((jit.stack_top | jit.heap_top | jit.process | jit.scheduler) & 7U) != 0) {
        return std::nullopt;
    }
    // The ErtsCodeMFA is directly before the function's code.
    const std::size_t before = kStartInstructions.back() + mfa_.bytes;
    std::vector<std::byte> bytes(before + kFunctionStartBytes);
    const auto first = thread.instruction - before;
    if (thread.instruction < before || !memory.read(first, bytes)) {
        return std::nullopt;
    }
    for (const auto behind : kStartInstructions) {
        const auto beginning = before - behind;
        const auto code = std::span(bytes).subspan(beginning).first<kFunctionStartBytes>();
        if (!is_function_start(code)) {
            continue;
        }
        const auto arity = arity_of(std::span(bytes).subspan(beginning - mfa_.bytes, mfa_.bytes));
        if (arity) {
            return State{first + beginning - mfa_.bytes,
                         *arity,
                         thread.instruction,
                         jit.heap_top,
                         jit.stack_top,
                         jit.scheduler,
                         static_cast<std::int32_t>(jit.reductions_left)};
        }
    }
    return std::nullopt;
}

bool YieldState::at_yield_point(const target::ThreadRegisters& thread,
                                memory::MemorySource& memory) const {
    return state_of(thread, memory).has_value();
}

void YieldState::record(std::span<const target::ThreadRegisters> threads,
                        memory::MemorySource& memory) {
    known_.clear();
    for (const auto& thread : threads) {
        const auto state = thread.in_system_call() ? std::nullopt : state_of(thread, memory);
        if (state) {
            known_.emplace(thread.jit.process, *state);
        }
    }
}

bool YieldState::apply(Address process, std::span<std::byte> structure) const {
    const auto found = known_.find(process);
    if (found == known_.end()) {
        return false;
    }
    const State& state = found->second;
    const StructView view(structure);
    const auto bits = view.get(state_);
    const bool fits = view.get(heap_) <= state.heap_top && state.heap_top <= state.stack_top &&
                      state.stack_top < view.get(hend_) && (bits & running_) != 0 &&
                      (bits & (otherwise_ | collecting_)) == 0 && !state.passing;
    if (!fits) {
        return false;
    }
    put(structure, htop_, state.heap_top);
    put(structure, stop_, state.stack_top);
    put(structure, i_, state.instruction);
    put(structure, current_, state.code_mfa);
    put(structure, arity_, state.arity);
    put(structure, arg_reg_, state.arguments);
    put(structure, fcalls_, static_cast<std::uint64_t>(state.reductions_left));
    return true;
}

std::optional<std::uint32_t> YieldState::apply_to_collection(Address process,
                                                             std::span<std::byte> structure) const {
    const auto* state = of(process);
    const auto bits = StructView(structure).get(state_);
    if (state == nullptr || !state->collection_words || (bits & running_) == 0 ||
        (bits & collecting_) == 0 || (bits & otherwise_) != 0) {
        return std::nullopt;
    }
    put(structure, i_, state->instruction);
    put(structure, current_, state->code_mfa);
    put(structure, arity_, state->arity);
    put(structure, arg_reg_, state->arguments);
    return state->collection_words;
}

}  // namespace beamdump::beam
