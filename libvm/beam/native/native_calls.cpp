#include <libdump/base/return_if_error.h>
#include <libdump/term/term_scheme.h>
#include <libvm/arch/call_code.h>
#include <libvm/arch/known_code.h>
#include <libvm/arch/system_calls.h>
#include <libvm/arch/x86_64/call_code.h>
#include <libvm/beam/layout/runtime_limits.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/native/native_calls.h>

#include <algorithm>
#include <array>
#include <utility>

namespace beamdump::beam {
namespace {

/// How deep the C stack of a call is at most: less than the stack of any thread, so that no other
/// thread's stack is taken for the scheduler's.
constexpr std::uint64_t kDeepestCall = std::uint64_t{128} << 10U;
constexpr std::size_t kMostFragmentBytes = 4096;
constexpr std::size_t kCalleeBytes = 512;
/// A call of a BIF is so many bytes long, from where it is entered again to where it returns to.
constexpr std::uint64_t kCallSiteBytes = 64;
constexpr int kRunsToStay = 4;

bool same_place(const YieldState::State& one, const YieldState::State& other) {
    return one.instruction == other.instruction && one.stack_top == other.stack_top &&
           one.heap_top == other.heap_top && one.reductions_left == other.reductions_left;
}

}  // namespace

NativeCalls::NativeCalls(Vm& vm, AtomWords atoms, InnermostFrames frames, LayoutNames& names)
    : vm_(&vm),
      atoms_(atoms),
      mfa_(names),
      htop_(names.field(runtime::Process::htop)),
      stop_(names.field(runtime::Process::stop)),
      i_(names.field(runtime::Process::i)),
      current_(names.field(runtime::Process::current)),
      arity_(names.field(runtime::Process::arity)),
      fcalls_(names.field(runtime::Process::fcalls)),
      state_(names.field(runtime::Process::state)),
      export_mfa_(ExportFields(names).mfa),
      running_(names.constant(runtime::constant::state_running)),
      collecting_(names.constant(runtime::constant::state_gc)),
      // An inferred layout may lack it.
      current_process_(names.field_if_any(runtime::ErtsSchedulerData::current_process)),
      architecture_(vm.layout().architecture()),
      frames_(std::move(frames)) {}

Result<NativeCalls> NativeCalls::open(Vm& vm, std::span<const JitRange> fragments) {
    static constexpr std::array kFragments = {
        std::pair{"global::call_light_bif_shared", Kind::kLightBif},
        std::pair{"global::call_bif_shared", Kind::kBif},
        std::pair{"global::call_nif_shared", Kind::kNif},
        std::pair{"global::garbage_collect", Kind::kCollection}};
    ASSIGN_OR_RETURN(auto atoms, AtomWords::resolve(vm.layout()));
    LayoutNames names(vm.layout());
    ASSIGN_OR_RETURN(auto frames, InnermostFrames::open(vm, fragments));
    NativeCalls calls(vm, atoms, std::move(frames), names);
    const auto stride = names.has_structure(runtime::ErtsAlignedSchedulerData::kName)
                            ? names.bytes(runtime::ErtsAlignedSchedulerData::kName)
                            : 0;
    RETURN_IF_ERROR(names.outcome());
    const auto first = vm.tables().schedulers;
    if (!calls.current_process_ || stride == 0 || first == 0) {
        return calls;
    }
    for (const auto& [name, kind] : kFragments) {
        const auto range = std::ranges::find(fragments, std::string_view(name), &JitRange::name);
        const auto found = range == fragments.end() ? std::nullopt : calls.fragment(*range, kind);
        if (found) {
            calls.fragments_.push_back(*found);
        }
    }
    const auto count = std::min(vm.facts().schedulers, kMaxSchedulers);
    for (std::uint32_t number = 0; number < count && !calls.fragments_.empty(); ++number) {
        const auto data = first + std::uint64_t{number} * stride;
        // The first member (erl_process.h, OTP 25 to 29).
        const auto registers = vm.memory().word(data);
        if (registers && *registers != 0 && *registers % kWordBytes == 0) {
            calls.schedulers_.push_back({data, *registers});
        }
    }
    return calls;
}

void NativeCalls::prepare() {
    if (fragments_.empty() || schedulers_.empty()) {
        return;
    }
    // Without either, processes are not known where it is needed.
    (void)frames_.read_modules().has_value();
    if (!std::exchange(prepared_, true) && arch::knows_code(architecture_)) {
        if (auto opened = target::NativeFrames::open(vm_->target())) {
            native_frames_ = std::move(*opened);
        }
    }
}

/// What the code of a fragment says of its call; nothing if it is not as expected.
std::optional<NativeCalls::Fragment> NativeCalls::fragment(const JitRange& range, Kind kind) const {
    auto& memory = vm_->memory();
    std::vector<std::byte> code(
        std::min<std::uint64_t>(range.end - std::min(range.begin, range.end), kMostFragmentBytes));
    if (code.empty() || !memory.read(range.begin, code)) {
        return std::nullopt;
    }
    const auto call = arch::fragment_call(
        architecture_, code, range.begin,
        kind == Kind::kLightBif ? arch::Called::kRegister : arch::Called::kFunction,
        {htop_.offset, stop_.offset});
    if (!call) {
        return std::nullopt;
    }
    Fragment found{.kind = kind,
                   .begin = range.begin,
                   .end = range.end,
                   .returns_to = range.begin + call->behind,
                   .arguments = call->x_registers};
    if (kind == Kind::kBif || kind == Kind::kNif) {
        auto callee = call->callee;
        if (call->callee_word) {
            const auto word = memory.word(*call->callee_word);
            callee = word ? std::optional(*word) : std::nullopt;
        }
        std::array<std::byte, kCalleeBytes> body{};
        const auto got = callee ? memory.read_some(*callee, body) : 0;
        const auto inner = arch::behind_register_call(
            architecture_, std::span<const std::byte>(body).first(got.value_or(0)));
        if (!inner) {
            return std::nullopt;
        }
        found.inner = *callee + *inner;
    }
    return found;
}

/// Whether an instruction is one of a file: the JIT's code is in memory that maps none, or shared
/// (OTP 25).
bool NativeCalls::is_native(Address instruction) const {
    const auto* mapping = vm_->target().mappings().find(instruction);
    return mapping != nullptr && mapping->executable && !mapping->shared &&
           mapping->path.starts_with('/');
}

const NativeCalls::Scheduler* NativeCalls::scheduler_of(
    const target::ThreadRegisters& thread) const {
    const auto found = std::ranges::find_if(schedulers_, [&](const Scheduler& one) {
        return thread.stack_pointer < one.registers &&
               one.registers - thread.stack_pointer < kDeepestCall;
    });
    return found == schedulers_.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> NativeCalls::arity_of(Address mfa) const {
    const auto read = OwnedStruct::read(vm_->target().memory(), mfa, mfa_.bytes);
    if (!read) {
        return std::nullopt;
    }
    const auto view = read->view();
    const auto arity = view.get(mfa_.arity);
    const bool named = atoms_.index(view.get(mfa_.module)) && atoms_.index(view.get(mfa_.function));
    return named && arity <= 255 ? std::optional(arity) : std::nullopt;
}

/// How many x registers are live where code calls the fragment that collects, which returns to
/// `place`.
std::optional<std::uint64_t> NativeCalls::live_before(Address place) const {
    std::vector<std::byte> code(arch::live_before_bytes(architecture_));
    return place >= code.size() && vm_->target().memory().read(place - code.size(), code)
               ? arch::live_before_call(architecture_, code)
               : std::nullopt;
}

/// Where the code that has called a fragment goes on: on top of the Erlang stack, or of the
/// thread's own.
std::optional<Address> NativeCalls::caller_of(const arch::NativeReturns& returns,
                                              Address stack_top) const {
    if (!arch::pushes_returns(architecture_)) {
        return returns.caller;
    }
    const auto top = vm_->target().memory().word(stack_top);
    return top ? std::optional(*top) : std::nullopt;
}

/// The call that the shared code of light BIFs has kept, if its return address is behind it: where
/// it is entered again, and the export entry.
std::optional<NativeCalls::LightBif> NativeCalls::light_bif(const Scheduler& scheduler,
                                                            std::optional<Address> caller) const {
    constexpr Address kCallPlace = 8, kExportEntry = 16;
    auto& memory = vm_->target().memory();
    const auto entry = memory.word(scheduler.registers + kCallPlace);
    const auto called = memory.word(scheduler.registers + kExportEntry);
    const bool fits =
        caller && entry && called && *caller > *entry && *caller - *entry <= kCallSiteBytes;
    return fits ? std::optional(LightBif{*entry, *called + export_mfa_.offset}) : std::nullopt;
}

/// What differs between the calls. False: the thread is not in the call's own code.
bool NativeCalls::complete(const Fragment& fragment, const Scheduler& scheduler,
                           const arch::NativeReturns& returns, const StructView& process,
                           YieldState::State& state) const {
    const auto caller = caller_of(returns, state.stack_top);
    const std::uint32_t pushed = arch::pushes_returns(architecture_) ? 1 : 0;
    if (fragment.kind == Kind::kCollection) {
        const auto live =
            caller && *caller == state.instruction ? live_before(*caller) : std::nullopt;
        state.code_mfa = 0;
        state.collection_words = pushed;  // the return address (emit_garbage_collect())
        state.arity = live.value_or(0);
        state.stack_top += pushed * kWordBytes;
        return live.has_value();
    }
    if (fragment.kind == Kind::kLightBif) {
        const auto called = light_bif(scheduler, caller);
        if (!called) {
            return false;
        }
        state.code_mfa = called->function;
        state.instruction = called->place;
        state.stack_top += pushed * kWordBytes;
    } else if (std::ranges::find(returns.to_native, fragment.inner) == returns.to_native.end()) {
        return false;
    }
    const auto arity = arity_of(state.code_mfa);
    if (!arity) {
        return false;
    }
    if (fragment.kind == Kind::kBif && process.get(arity_) != *arity) {
        return false;  // it is setting where to go on instead of returning
    }
    if (fragment.kind == Kind::kNif) {
        state.instruction = state.code_mfa + mfa_.bytes;
    }
    state.arity = *arity;
    return true;
}

std::optional<NativeCalls::Call> NativeCalls::call_of(const target::ThreadRegisters& thread) const {
    const auto* scheduler = scheduler_of(thread);
    return scheduler == nullptr ? std::nullopt : call_of(thread, *scheduler);
}

std::optional<NativeCalls::Standing> NativeCalls::call_in_middle(
    const target::ThreadRegisters& thread, Address scheduler) const {
    const auto found = std::ranges::find(schedulers_, scheduler, &Scheduler::data);
    const auto call = found == schedulers_.end() ? std::nullopt : call_of(thread, *found);
    return call && call->kind != Kind::kCollection && call->kind != Kind::kOther
               ? std::optional(Standing{call->process, call->state, call->kind == Kind::kNif})
               : std::nullopt;
}

std::optional<NativeCalls::Call> NativeCalls::call_of(const target::ThreadRegisters& thread,
                                                      const Scheduler& scheduler) const {
    if (!is_native(thread.instruction)) {
        return std::nullopt;
    }
    auto& memory = vm_->target().memory();
    const auto returns = arch::native_returns(architecture_, thread, scheduler.registers, memory);
    if (!returns) {
        return std::nullopt;
    }
    const auto fragment = std::ranges::find(fragments_, returns->to_code, &Fragment::returns_to);
    const auto process = memory.word(scheduler.data + current_process_->offset);
    const bool is_other = fragment == fragments_.end() && arch::knows_code(architecture_) &&
                          frames_.in_code(returns->to_code);
    if ((fragment == fragments_.end() && !is_other) || !process || *process == 0 ||
        *process % kWordBytes != 0) {
        return std::nullopt;
    }
    const auto read = OwnedStruct::read(
        memory, *process,
        static_cast<std::uint32_t>(end_of({htop_, stop_, i_, current_, arity_, fcalls_})));
    if (!read) {
        return std::nullopt;
    }
    const auto view = read->view();
    if (is_other) {
        return Call{Kind::kOther, *process, returns->to_code, {.heap_top = view.get(htop_)}};
    }
    Call call{fragment->kind,
              *process,
              returns->to_code,
              {.code_mfa = view.get(current_),
               .arity = 0,
               .instruction = view.get(i_),
               .heap_top = view.get(htop_),
               .stack_top = view.get(stop_),
               .arguments = scheduler.registers + fragment->arguments,
               .reductions_left = static_cast<std::int32_t>(view.get(fcalls_))}};
    return complete(*fragment, scheduler, *returns, view, call.state) ? std::optional(call)
                                                                      : std::nullopt;
}

/// Whether two readings are of one call: each call of a loop begins with fewer reductions left.
bool NativeCalls::same(const Call& one, const Call& other) {
    return one.process == other.process && one.returns_to == other.returns_to &&
           one.state.code_mfa == other.state.code_mfa &&
           one.state.instruction == other.state.instruction &&
           one.state.stack_top == other.state.stack_top &&
           one.state.reductions_left == other.state.reductions_left;
}

bool NativeCalls::stays_in_call(const target::ThreadRegisters& thread) {
    auto call = thread.in_system_call() ? std::nullopt : call_of(thread);
    if (!call) {
        seen_.erase(thread.thread);
        return false;
    }
    auto [seen, is_new] =
        seen_.try_emplace(thread.thread, Seen{.call = *call, .registers = thread});
    bool ran = false;
    if (!is_new && !same(seen->second.call, *call)) {
        seen->second = {.call = *call, .registers = thread};
    } else if (!thread.stands_as(seen->second.registers)) {
        seen->second.call = *call;
        seen->second.registers = thread;
        ++seen->second.runs;
        ran = true;
    }
    if (call->kind == Kind::kOther) {
        if (ran) {
            seen->second.stays = stays_in_other(seen->second, thread, *call);
        }
        return seen->second.stays;
    }
    return seen->second.runs >= kRunsToStay;
}

/// Whether it is the call of the look before: of a loop that makes the same call each has fewer
/// reductions left, and the registers that tell them are known once native code is unwound.
bool NativeCalls::stays_in_other(Seen& seen, const target::ThreadRegisters& thread,
                                 const Call& call) {
    const auto before = std::exchange(seen.unwound, unwound(thread, call));
    return before && seen.unwound && same_place(*before, *seen.unwound);
}

Address saved_stack(Vm& vm, const target::JitCaller& caller) {
    constexpr std::size_t kMoveBytes = 3;
    std::array<std::byte, kMoveBytes> code{};
    const auto from = vm.layout().architecture() == Architecture::kX86_64 &&
                              vm.memory().read(caller.returns_to, code)
                          ? arch::x86_64::stack_from_register(code)
                          : std::nullopt;
    return from == arch::x86_64::SavedStack::kR12 ? caller.stack_top_of_24 : caller.stack_top;
}

/// Whether code goes on, where a call returns to, with the tops of stack and heap from registers,
/// so that the call has neither moved nor made terms.
bool NativeCalls::keeps_tops_in_registers(Address returns_to) const {
    constexpr std::size_t kBehindCall = 16;
    std::array<std::byte, kBehindCall> code{};
    return vm_->target().memory().read(returns_to, code) &&
           arch::x86_64::keeps_tops(code, htop_.offset);
}

/// How many of these words are there before one that no term begins with: what marks in an x
/// register that there is none.
std::uint64_t NativeCalls::terms_at(Address first, std::uint64_t count) const {
    std::vector<std::uint64_t> words(count);
    if (!vm_->target().memory().read(first, std::as_writable_bytes(std::span(words)))) {
        return 0;
    }
    const auto end = std::ranges::find_if(
        words, [](std::uint64_t word) { return (word & kPrimaryMask) == kPrimaryHeader; });
    return static_cast<std::uint64_t>(end - words.begin());
}

/// The state of a process in the middle of a function whose frame tells where it is.
std::optional<YieldState::State> NativeCalls::in_function(Address place, Address stack_top,
                                                          bool native, Address heap_top,
                                                          Address arguments,
                                                          std::uint64_t reductions_left) {
    const auto frame = frames_.find(place, stack_top, native);
    if (!frame) {
        return std::nullopt;
    }
    const auto known = terms_at(arguments, frame->x_registers);
    return YieldState::State{
        .arity = known,
        .instruction = frame->place,
        .heap_top = heap_top,
        .stack_top = frame->stack_top,
        .arguments = arguments,
        .reductions_left = static_cast<std::int32_t>(reductions_left),
        .in_function = true,
        .without_x_registers = known < frame->x_registers || !frame->all_x_registers,
        .without_frame = frame->left_out};
}

/// The state of a process in native code that was called with the tops of its stack and heap in
/// registers.
std::optional<YieldState::State> NativeCalls::unwound(const target::ThreadRegisters& thread,
                                                      const Call& call) {
    const auto* scheduler = scheduler_of(thread);
    if (scheduler == nullptr || !native_frames_ || !keeps_tops_in_registers(call.returns_to)) {
        return std::nullopt;
    }
    std::vector<std::byte> bytes(scheduler->registers - thread.stack_pointer);
    if (!vm_->target().memory().read(thread.stack_pointer, bytes)) {
        return std::nullopt;
    }
    const auto found = native_frames_->unwind(target::stack_of(architecture_, thread, bytes),
                                              [this](Address at) { return frames_.in_code(at); });
    const auto& caller = found.caller;
    if (!caller || caller->returns_to != call.returns_to || caller->process != call.process ||
        caller->heap_top == 0 || !caller->reductions_left) {
        return std::nullopt;
    }
    return in_function(caller->returns_to, saved_stack(*vm_, *caller), true, caller->heap_top,
                       scheduler->registers + fragments_.front().arguments,
                       *caller->reductions_left);
}

/// The process, and its state, of a thread that collects on behalf of native code that compiled
/// code has called: in it, or behind it in the shared code of the call (beam_jit_common.cpp,
/// beam_jit_call_bif(), beam_jit_call_nif(); jit/x86/instr_bif.cpp, emit_call_light_bif_shared();
/// OTP 25 to 29), or where the code before a plain call for a collection does not tell the live x
/// registers. A collection moves all words of the stack, so that all are terms; which others it
/// moves, the call's result or arguments, is not known.
std::optional<std::pair<Address, YieldState::State>> NativeCalls::in_collection(
    const target::ThreadRegisters& thread) {
    const auto* scheduler = is_native(thread.instruction) ? scheduler_of(thread) : nullptr;
    if (scheduler == nullptr) {
        return std::nullopt;
    }
    auto& memory = vm_->target().memory();
    const auto process = memory.word(scheduler->data + current_process_->offset);
    const auto returns = arch::native_returns(architecture_, thread, scheduler->registers, memory);
    if (!process || *process == 0 || *process % kWordBytes != 0 || !returns) {
        return std::nullopt;
    }
    const auto read = OwnedStruct::read(
        memory, *process,
        static_cast<std::uint32_t>(end_of({htop_, stop_, i_, current_, arity_, fcalls_, state_})));
    const auto bits = read ? read->view().get(state_) : 0;
    if ((bits & running_) == 0 || (bits & collecting_) == 0) {
        return std::nullopt;
    }
    const auto view = read->view();
    YieldState::State state{.instruction = view.get(i_),
                            .heap_top = view.get(htop_),
                            .stack_top = view.get(stop_),
                            .arguments = scheduler->registers,
                            .reductions_left = static_cast<std::int32_t>(view.get(fcalls_)),
                            .in_function = true,
                            .without_x_registers = true,
                            .collection_words = 0,
                            .passing = true};
    const auto fragment = std::ranges::find_if(fragments_, [&](const Fragment& one) {
        return one.begin < returns->to_code && returns->to_code < one.end;
    });
    if (fragment == fragments_.end()) {
        const auto frame = arch::knows_code(architecture_)
                               ? frames_.find(returns->to_code, state.stack_top, true)
                               : std::nullopt;
        if (!frame || frame->stack_top < state.stack_top) {
            return std::nullopt;
        }
        state.instruction = frame->place;
        state.without_frame = frame->left_out;
        state.collection_words =
            static_cast<std::uint32_t>((frame->stack_top - state.stack_top) / kWordBytes);
        return std::pair(*process, state);
    }
    Address function = view.get(current_);
    const auto caller = caller_of(*returns, state.stack_top);
    const std::uint32_t pushed = arch::pushes_returns(architecture_) ? 1 : 0;
    if (fragment->kind == Kind::kCollection) {
        const bool is_plain = caller && *caller == state.instruction && !call_of(thread);
        state.collection_words = pushed;
        return is_plain ? std::optional(std::pair(*process, state)) : std::nullopt;
    }
    if (fragment->kind == Kind::kLightBif) {
        const auto called = light_bif(*scheduler, caller);
        if (!called) {
            return std::nullopt;
        }
        function = called->function;
        state.instruction = called->place;
        state.collection_words = pushed;
    } else if (fragment->kind == Kind::kNif) {
        state.instruction = function + mfa_.bytes;
    }
    return arity_of(function) ? std::optional(std::pair(*process, state)) : std::nullopt;
}

/// The process, and its state, of a thread whose registers are those of compiled code.
std::optional<std::pair<Address, YieldState::State>> NativeCalls::in_compiled_code(
    const target::ThreadRegisters& thread) {
    if (fragments_.empty() || !arch::knows_code(architecture_)) {
        return std::nullopt;
    }
    const auto scheduler = std::ranges::find_if(schedulers_, [&](const Scheduler& one) {
        return one.registers + fragments_.front().arguments == thread.jit.scheduler;
    });
    if (thread.in_system_call() || scheduler == schedulers_.end() ||
        !frames_.in_code(thread.instruction)) {
        return std::nullopt;
    }
    const auto process = vm_->target().memory().word(scheduler->data + current_process_->offset);
    if (!process || *process != thread.jit.process) {
        return std::nullopt;
    }
    const auto& jit = thread.jit;
    auto state = in_function(thread.instruction, jit.stack_top, false, jit.heap_top, jit.scheduler,
                             jit.reductions_left);
    if (state) {
        state->on_its_way = true;
    }
    return state ? std::optional(std::pair(*process, *state)) : std::nullopt;
}

bool NativeCalls::known_in_compiled_code(const target::ThreadRegisters& thread) {
    const auto compiled = in_compiled_code(thread);
    return compiled && !compiled->second.without_x_registers && !compiled->second.without_frame;
}

/// Whether a call that the kernel has restarted since a stop (restart_syscall(2), which keeps the
/// arguments) is one that waits for time to pass: its first argument is a clock's number. Of those
/// that the kernel restarts so, a wait for a lock begins with an address.
bool sleeps_again(const target::ThreadRegisters& thread) {
    constexpr std::uint64_t kMostClocks = 16;  // MAX_CLOCKS, uapi/linux/time.h
    return thread.first_argument && *thread.first_argument < kMostClocks;
}

/// Whether a thread is in a system call in which a BIF or NIF changes nothing of its process: any
/// of a NIF, which has no access to it, and of a BIF one that waits for the outside. Others wait
/// for locks or map memory, in the midst of changes.
bool NativeCalls::waits_outside(const target::ThreadRegisters& thread, Kind kind) const {
    if (!thread.in_system_call() || kind == Kind::kOther || kind == Kind::kCollection) {
        return false;
    }
    return kind == Kind::kNif || arch::waits_outside(architecture_, thread.system_call) ||
           (arch::is_restarted(architecture_, thread.system_call) && sleeps_again(thread));
}

std::vector<std::pair<Address, YieldState::State>> NativeCalls::states(
    std::span<const target::ThreadRegisters> threads) {
    std::vector<std::pair<Address, YieldState::State>> found;
    for (const auto& thread : threads) {
        if (const auto collecting = in_collection(thread)) {
            found.push_back(*collecting);
            continue;
        }
        const auto call = call_of(thread);
        const auto seen = seen_.find(thread.thread);
        const bool again = call && seen != seen_.end() && same(*call, seen->second.call);
        const bool stays = again && seen->second.runs >= kRunsToStay;
        if (call && call->kind == Kind::kOther) {
            const auto state = again && seen->second.stays ? unwound(thread, *call) : std::nullopt;
            if (state && same_place(*state, *seen->second.unwound)) {
                found.emplace_back(call->process, *state);
            }
        } else if (stays || (call && waits_outside(thread, call->kind))) {
            found.emplace_back(call->process, call->state);
        } else if (call && call->kind == Kind::kCollection) {
            found.emplace_back(call->process, call->state);
            found.back().second.passing = true;
        } else if (const auto compiled = in_compiled_code(thread)) {
            found.push_back(*compiled);
        }
    }
    return found;
}

}  // namespace beamdump::beam
