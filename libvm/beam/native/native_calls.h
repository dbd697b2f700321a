#pragma once

#include <libdump/base/architecture.h>
#include <libvm/arch/call_code.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/native/innermost_frames.h>
#include <libvm/beam/processes/yield_state.h>
#include <libvm/beam/search/jit_list.h>
#include <libvm/target/unwind/native_frames.h>

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace beamdump::beam {

/// The Erlang stack's top during a call that does not save it in the process.
Address saved_stack(Vm& vm, const target::JitCaller& caller);

/// Processes that run elsewhere than at a yield point, in memory that stands still.
///
/// In native code that compiled code called by one of the fragments that save the process's stack
/// and heap top before (jit/x86/instr_bif.cpp, beam_asm_global.cpp, and those of jit/arm; OTP 25 to
/// 29): a BIF, a NIF, or the beginning of a collection. All frames are complete there and the
/// arguments are known; what the call has made so far is referred to by nothing but its own C
/// stack. So the process is as it was right before the call.
///
/// In native code that was called without that, which only reads terms (a comparison, a look-up in
/// a map; emit_enter_runtime<>(), jit/x86/beam_asm.hpp): the tops are in registers that native code
/// has saved, and are found by unwinding it. In compiled code they are in its registers. The frame
/// of the innermost function counts if its code tells that all of it was written. This is so on
/// x86-64 only: of aarch64 the code of modules is not understood.
class NativeCalls {
  public:
    /// `fragments`: the JIT's own code; without those of the calls (the interpreter, frame
    /// pointers), and where the layout has no schedulers, no call is known.
    static Result<NativeCalls> open(Vm& vm, std::span<const JitRange> fragments);

    /// Before a stop: opens what is read of files, and reads which modules are loaded. What fails
    /// is not known in the stop.
    void prepare();

    /// Whether a stopped thread stays in such a call: it has run on several times meanwhile, so
    /// that it is not in one of the few instructions in which the call begins, ends, or changes
    /// the process.
    bool stays_in_call(const target::ThreadRegisters& thread);

    /// Whether a stopped thread is at a place of compiled code that tells the innermost frame and
    /// all x registers.
    bool known_in_compiled_code(const target::ThreadRegisters& thread);

    /// The states of the processes whose thread stays in such a call, waits in it for something
    /// outside of the node, is in compiled code, or in a collection for any of these.
    std::vector<std::pair<Address, YieldState::State>> states(
        std::span<const target::ThreadRegisters> threads);

    /// A call by which a process is in native code.
    struct Standing {
        Address process = 0;
        YieldState::State state;
        bool nif = false;  ///< else a BIF
    };
    /// The call that a scheduler's thread is in where it is certain that it is in the middle of it,
    /// as where it died in a library that the VM calls. `scheduler`: its structure. Nothing: it is
    /// in none, or in a collection.
    [[nodiscard]] std::optional<Standing> call_in_middle(const target::ThreadRegisters& thread,
                                                         Address scheduler) const;

    /// The threads were let go.
    void forget() { seen_.clear(); }

  private:
    enum class Kind : std::uint8_t { kLightBif, kBif, kNif, kCollection, kOther };
    struct Fragment {
        Kind kind = Kind::kBif;
        Address begin = 0, end = 0;
        Address returns_to = 0;  ///< of the call into native code
        /// Where the BIF or NIF returns to in the native function that calls it, which also
        /// collects afterwards; 0: it is called directly.
        Address inner = 0;
        std::uint64_t arguments = 0;  ///< from the scheduler's registers to its x registers
    };
    struct Scheduler {
        Address data = 0;
        Address registers = 0;
    };
    struct LightBif {
        Address place = 0;     ///< of the call, where it is entered again
        Address function = 0;  ///< its ErtsCodeMFA
    };
    struct Call {
        Kind kind = Kind::kBif;
        Address process = 0;
        Address returns_to = 0;
        YieldState::State state;
    };
    struct Seen {
        Call call;
        target::ThreadRegisters registers;  ///< when the thread was last elsewhere
        int runs = 0;                       ///< of the thread since
        // For Kind::kOther: the state when the thread was last elsewhere, and whether it was the
        // one before, too.
        std::optional<YieldState::State> unwound{};
        bool stays = false;
    };

    NativeCalls(Vm& vm, AtomWords atoms, InnermostFrames frames, LayoutNames& names);
    [[nodiscard]] std::optional<Fragment> fragment(const JitRange& range, Kind kind) const;
    [[nodiscard]] static bool same(const Call& one, const Call& other);
    bool stays_in_other(Seen& seen, const target::ThreadRegisters& thread, const Call& call);
    [[nodiscard]] std::optional<Call> call_of(const target::ThreadRegisters& thread) const;
    [[nodiscard]] std::optional<Call> call_of(const target::ThreadRegisters& thread,
                                              const Scheduler& scheduler) const;
    std::optional<YieldState::State> unwound(const target::ThreadRegisters& thread,
                                             const Call& call);
    std::optional<std::pair<Address, YieldState::State>> in_collection(
        const target::ThreadRegisters& thread);
    std::optional<std::pair<Address, YieldState::State>> in_compiled_code(
        const target::ThreadRegisters& thread);
    std::optional<YieldState::State> in_function(Address place, Address stack_top, bool native,
                                                 Address heap_top, Address arguments,
                                                 std::uint64_t reductions_left);
    [[nodiscard]] std::uint64_t terms_at(Address first, std::uint64_t count) const;
    [[nodiscard]] bool waits_outside(const target::ThreadRegisters& thread, Kind kind) const;
    [[nodiscard]] bool keeps_tops_in_registers(Address returns_to) const;
    [[nodiscard]] bool is_native(Address instruction) const;
    [[nodiscard]] const Scheduler* scheduler_of(const target::ThreadRegisters& thread) const;
    [[nodiscard]] std::optional<std::uint64_t> arity_of(Address mfa) const;
    [[nodiscard]] std::optional<std::uint64_t> live_before(Address place) const;
    [[nodiscard]] std::optional<Address> caller_of(const arch::NativeReturns& returns,
                                                   Address stack_top) const;
    [[nodiscard]] std::optional<LightBif> light_bif(const Scheduler& scheduler,
                                                    std::optional<Address> caller) const;
    [[nodiscard]] bool complete(const Fragment& fragment, const Scheduler& scheduler,
                                const arch::NativeReturns& returns, const StructView& process,
                                YieldState::State& state) const;

    Vm* vm_;
    AtomWords atoms_;
    MfaFields mfa_;
    Field htop_, stop_, i_, current_, arity_, fcalls_, state_, export_mfa_;
    std::uint64_t running_ = 0, collecting_ = 0;
    std::optional<Field> current_process_;
    std::vector<Fragment> fragments_;
    std::vector<Scheduler> schedulers_;
    Architecture architecture_;
    InnermostFrames frames_;
    std::optional<target::NativeFrames> native_frames_;
    bool prepared_ = false;
    std::map<pid_t, Seen> seen_;
};

}  // namespace beamdump::beam
