#pragma once

#include <libvm/arch/function_start.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/vm/vm.h>
#include <libvm/target/process/threads.h>

#include <map>
#include <optional>
#include <span>
#include <vector>

namespace beamdump::beam {

/// Processes that run in JIT-compiled code keep the tops of heap and stack in registers. At the
/// very beginning of an Erlang function these are reliable: the emulator itself may schedule the
/// process out there when its reductions are used up (arch::FunctionStarts). All frames are
/// complete, the arguments are the function's, and no term is partly written. Elsewhere the state
/// is unknown.
class YieldState {
  public:
    static Result<YieldState> open(const Layout& layout);

    /// Whether a thread is at a yield point. `memory`: of the stopped process.
    [[nodiscard]] bool at_yield_point(const target::ThreadRegisters& thread,
                                      memory::MemorySource& memory) const;

    /// Where a process would go on, with what, if it had yielded.
    struct State {
        Address code_mfa = 0;  ///< of the function whose arguments are known; 0: of none
        std::uint64_t arity = 0;
        Address instruction = 0;
        Address heap_top = 0;
        Address stack_top = 0;
        Address arguments = 0;
        /// Where these are not empty, the arguments are here, and not there.
        std::vector<std::uint64_t> argument_words = {};
        std::int64_t reductions_left = 0;
        /// What the process runs is in the middle of a function: terms that only registers of the
        /// processor have are not known.
        bool in_function = false;
        /// Nor are those that only x registers from `arity` on have.
        bool without_x_registers = false;
        /// Nor are those in the frame of that function, which is left out.
        bool without_frame = false;
        /// It runs compiled code, and may soon be at a yield point.
        bool on_its_way = false;
        /// Its own code has called for the collection that it is in, with so many words on its
        /// stack; the arguments are roots.
        std::optional<std::uint32_t> collection_words = {};
        /// The call may be at its beginning or end: all but the arguments is in the structure.
        bool passing = false;
    };

    /// The state of the process at that address; null: it is not known.
    [[nodiscard]] const State* of(Address process) const {
        const auto found = known_.find(process);
        return found == known_.end() ? nullptr : &found->second;
    }

    /// Replaces the known states by those of `threads`.
    void record(std::span<const target::ThreadRegisters> threads, memory::MemorySource& memory);
    /// Adds a state that is known otherwise.
    void know(Address process, const State& state) { known_.insert_or_assign(process, state); }
    void forget() { known_.clear(); }

    /// If the state of the process at that address is known: writes into the copy of its structure
    /// what the emulator would write there (process_main.cpp of jit/x86 and jit/arm,
    /// context_switch_simplified).
    /// False if it is unknown or does not fit the structure.
    [[nodiscard]] bool apply(Address process, std::span<std::byte> structure) const;
    /// If the process is in the middle of a collection that its own code has called for: writes
    /// where it is and its arguments are into the copy of its structure. Gives how many words of
    /// that call its stack begins with.
    [[nodiscard]] std::optional<std::uint32_t> apply_to_collection(
        Address process, std::span<std::byte> structure) const;

  private:
    [[nodiscard]] std::optional<State> state_of(const target::ThreadRegisters& thread,
                                                memory::MemorySource& memory) const;
    [[nodiscard]] std::optional<State> state_in(const arch::FunctionStart& way,
                                                const target::ThreadRegisters& thread,
                                                memory::MemorySource& memory) const;
    void put_arguments(Address process, const State& state, std::span<std::byte> structure) const;

    YieldState(AtomWords atoms, const MfaFields& mfa) : atoms_(atoms), mfa_(mfa) {}
    [[nodiscard]] std::optional<std::uint64_t> arity_of(std::span<const std::byte> mfa) const;

    AtomWords atoms_;
    Field heap_, hend_, htop_, stop_, i_, current_, arity_, arg_reg_, def_arg_reg_, fcalls_, state_;
    MfaFields mfa_;
    std::uint64_t running_ = 0, collecting_ = 0, otherwise_ = 0;
    arch::FunctionStarts starts_;
    std::map<Address, State> known_;
};

}  // namespace beamdump::beam
