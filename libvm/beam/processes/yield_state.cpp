#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/processes/yield_state.h>

#include <algorithm>
#include <cstring>

namespace beamdump::beam {
namespace {

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
    result.def_arg_reg_ = names.field(runtime::Process::def_arg_reg);
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
    result.starts_ = arch::function_starts(layout.architecture());
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
    if (((jit.stack_top | jit.heap_top | jit.process | jit.scheduler) & 7U) != 0) {
        return std::nullopt;
    }
    for (const auto& way : starts_.ways) {
        if (auto state = state_in(way, thread, memory)) {
            return state;
        }
    }
    return std::nullopt;
}

std::optional<YieldState::State> YieldState::state_in(const arch::FunctionStart& way,
                                                      const target::ThreadRegisters& thread,
                                                      memory::MemorySource& memory) const {
    // The ErtsCodeMFA is directly before the function's code.
    const std::size_t before = way.instructions.back() + mfa_.bytes;
    std::vector<std::byte> bytes(before + way.bytes);
    const auto first = thread.instruction - before;
    if (thread.instruction < before || !memory.read(first, bytes)) {
        return std::nullopt;
    }
    const auto& jit = thread.jit;
    for (const auto behind : way.instructions) {
        const auto beginning = before - behind;
        if (!way.begins(std::span(bytes).subspan(beginning, way.bytes))) {
            continue;
        }
        const auto arity = arity_of(std::span(bytes).subspan(beginning - mfa_.bytes, mfa_.bytes));
        if (!arity) {
            continue;
        }
        State state{.code_mfa = first + beginning - mfa_.bytes,
                    .arity = *arity,
                    .instruction = thread.instruction,
                    .heap_top = jit.heap_top,
                    .stack_top = jit.stack_top,
                    .arguments = jit.scheduler,
                    .reductions_left = static_cast<std::int32_t>(jit.reductions_left)};
        if (starts_.arguments.empty()) {
            return state;
        }
        if (*arity > std::min<std::size_t>(starts_.arguments.size(), def_arg_reg_.bytes / 8)) {
            return std::nullopt;
        }
        for (const auto number : starts_.arguments.first(*arity)) {
            state.argument_words.push_back(thread.general()[number]);
        }
        return state;
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

void YieldState::put_arguments(Address process, const State& state,
                               std::span<std::byte> structure) const {
    const bool here = !state.argument_words.empty();
    put(structure, arg_reg_, here ? process + def_arg_reg_.offset : state.arguments);
    if (here) {
        std::memcpy(structure.data() + def_arg_reg_.offset, state.argument_words.data(),
                    state.argument_words.size() * sizeof(std::uint64_t));
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
    put_arguments(process, state, structure);
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
    put_arguments(process, *state, structure);
    return state->collection_words;
}

}  // namespace beamdump::beam
