#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/native/native_calls.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);
constexpr std::uint32_t kMaxNormalSchedulers = 1024;  // erl_vm.h, ERTS_MAX_NO_OF_SCHEDULERS
/// How deep the C stack of a call is at most: less than the stack of any thread, so that no other
/// thread's stack is taken for the scheduler's.
constexpr std::uint64_t kDeepestCall = std::uint64_t{128} << 10U;
/// Words of the C stack in which the frame lies of the function that calls a BIF or NIF.
constexpr std::size_t kFrameWords = 32;
constexpr std::size_t kMostFragmentBytes = 4096;
constexpr std::size_t kCalleeBytes = 256;
/// A call of a BIF is so many bytes long, from where it is entered again to where it returns to.
constexpr std::uint64_t kCallSiteBytes = 64;
constexpr std::uint64_t kMostLive = 1024;
constexpr int kRunsToStay = 4;

/// lea rsp, [rbx - N]: to the thread's own stack, which ends at the scheduler's registers.
constexpr std::array kToNativeStack = {std::byte{0x48}, std::byte{0x8d}, std::byte{0x63}};
constexpr std::byte kPushFramePointer{0x55};

std::optional<std::size_t> find(std::span<const std::byte> code, std::span<const std::byte> wanted,
                                std::size_t from = 0) {
    const auto found = std::ranges::search(code.subspan(from), wanted);
    return found.empty() ? std::nullopt
                         : std::optional(static_cast<std::size_t>(found.begin() - code.begin()));
}

/// Where the first `call REGISTER` (FF D0 to FF D7) from a place on ends.
std::optional<std::size_t> behind_register_call(std::span<const std::byte> code, std::size_t from) {
    for (auto at = from; at + 2 <= code.size(); ++at) {
        if (code[at] == std::byte{0xff} && (code[at + 1] & std::byte{0xf8}) == std::byte{0xd0}) {
            return at + 2;
        }
    }
    return std::nullopt;
}

std::int32_t relative(std::span<const std::byte> code, std::size_t at) {
    std::int32_t value = 0;
    std::memcpy(&value, code.data() + at, sizeof(value));
    return value;
}

}  // namespace

NativeCalls::NativeCalls(Vm& vm, AtomWords atoms, LayoutNames& names)
    : vm_(&vm),
      atoms_(atoms),
      mfa_(names),
      htop_(names.field(runtime::Process::htop)),
      stop_(names.field(runtime::Process::stop)),
      i_(names.field(runtime::Process::i)),
      current_(names.field(runtime::Process::current)),
      arity_(names.field(runtime::Process::arity)),
      fcalls_(names.field(runtime::Process::fcalls)),
      export_mfa_(ExportFields(names).mfa),
      // An inferred layout may lack it.
      current_process_(names.field_if_any(runtime::ErtsSchedulerData::current_process)) {}

Result<NativeCalls> NativeCalls::open(Vm& vm, std::span<const JitRange> fragments) {
    static constexpr std::array kFragments = {
        std::pair{"global::call_light_bif_shared", Kind::kLightBif},
        std::pair{"global::call_bif_shared", Kind::kBif},
        std::pair{"global::call_nif_shared", Kind::kNif},
        std::pair{"global::garbage_collect", Kind::kCollection}};
    ASSIGN_OR_RETURN(auto atoms, AtomWords::resolve(vm.layout()));
    LayoutNames names(vm.layout());
    NativeCalls calls(vm, atoms, names);
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
    const auto count = std::min(vm.facts().schedulers, kMaxNormalSchedulers);
    for (std::uint32_t number = 0; number < count && !calls.fragments_.empty(); ++number) {
        const auto data = first + std::uint64_t{number} * stride;
        // The first member (erl_process.h, OTP 25 to 29).
        const auto registers = vm.memory().word(data);
        if (registers && *registers != 0 && *registers % kWord == 0) {
            calls.schedulers_.push_back({data, *registers});
        }
    }
    return calls;
}

/// What the code of a fragment says of its call; nothing if it is not as expected.
std::optional<NativeCalls::Fragment> NativeCalls::fragment(const JitRange& range, Kind kind) const {
    std::vector<std::byte> code(
        std::min<std::uint64_t>(range.end - std::min(range.begin, range.end), kMostFragmentBytes));
    if (code.empty() || !vm_->memory().read(range.begin, code) ||
        code.front() == kPushFramePointer) {
        return std::nullopt;
    }
    const auto leaves = find(code, kToNativeStack);
    if (!leaves || *leaves + kToNativeStack.size() >= code.size()) {
        return std::nullopt;
    }
    const auto operand = *leaves + kToNativeStack.size();
    Fragment found{.kind = kind};
    found.arguments = static_cast<std::uint64_t>(
        -std::int64_t{static_cast<std::int8_t>(std::to_integer<std::uint8_t>(code[operand]))});
    std::optional<std::size_t> behind;
    if (kind == Kind::kLightBif) {
        behind = behind_register_call(code, operand + 1);
    } else {
        // `call [rip + N]`, or `call N`
        static constexpr std::array kIndirect = {std::byte{0xff}, std::byte{0x15}};
        constexpr std::size_t kOperandBytes = 4;
        const auto call = find(code, kIndirect, operand + 1);
        if (!call || *call + kIndirect.size() + kOperandBytes > code.size()) {
            return std::nullopt;
        }
        behind = *call + kIndirect.size() + kOperandBytes;
        if (kind != Kind::kCollection) {
            const auto callee = vm_->memory().word(
                range.begin + *behind +
                static_cast<std::uint64_t>(std::int64_t{relative(code, *call + kIndirect.size())}));
            std::array<std::byte, kCalleeBytes> body{};
            const auto inner = callee && vm_->memory().read(*callee, body)
                                   ? behind_register_call(body, 0)
                                   : std::nullopt;
            if (!inner) {
                return std::nullopt;
            }
            found.inner = *callee + *inner;
        }
    }
    // mov rsp, [r13 + stop]: the stack's top is in the structure meanwhile.
    const std::array from_structure = {std::byte{0x49}, std::byte{0x8b}, std::byte{0x65},
                                       static_cast<std::byte>(stop_.offset)};
    constexpr std::size_t kBehindCall = 8;
    if (!behind || stop_.offset >= 0x80) {
        return std::nullopt;
    }
    const auto rest = std::span<const std::byte>(code).subspan(*behind);
    if (!find(rest.first(std::min(kBehindCall, rest.size())), from_structure)) {
        return std::nullopt;
    }
    found.returns_to = range.begin + *behind;
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
        return thread.rsp < one.registers && one.registers - thread.rsp < kDeepestCall;
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
/// `place`: `mov ecx, N` or `xor ecx, ecx`, up to three bytes of padding, and the call
/// (jit/x86/instr_common.cpp, emit_gc_test(); OTP 25 to 29).
std::optional<std::uint64_t> NativeCalls::live_before(Address place) const {
    constexpr std::size_t kBefore = 14;
    constexpr std::size_t kMovBytes = 5, kXorBytes = 2, kMostPadding = 3;
    std::array<std::byte, kBefore> code{};
    if (place < kBefore || !vm_->target().memory().read(place - kBefore, code)) {
        return std::nullopt;
    }
    const auto at = [&](std::size_t index) { return std::to_integer<unsigned>(code.at(index)); };
    std::optional<std::uint64_t> live;
    for (const std::size_t call : {5U, 6U}) {
        const auto begin = kBefore - call;
        const bool is_call = call == 5 ? at(begin) == 0xe8
                                       : (at(begin) == 0xff && at(begin + 1) == 0x15) ||
                                             (at(begin) == 0x40 && at(begin + 1) == 0xe8);
        for (std::size_t padding = 0; is_call && padding <= kMostPadding; ++padding) {
            const auto end = begin - padding;
            std::optional<std::uint64_t> told;
            if (end >= kMovBytes && at(end - kMovBytes) == 0xb9) {
                told = static_cast<std::uint32_t>(relative(code, end - kMovBytes + 1));
            } else if (end >= kXorBytes && at(end - kXorBytes) == 0x31 && at(end - 1) == 0xc9) {
                told = 0;
            }
            if (!told || *told > kMostLive) {
                continue;
            }
            if (live) {
                return std::nullopt;
            }
            live = told;
        }
    }
    return live;
}

/// What differs between the calls. False: the thread is not in the call's own code.
bool NativeCalls::complete(const Fragment& fragment, const Scheduler& scheduler,
                           const StructView& process, YieldState::State& state) const {
    auto& memory = vm_->target().memory();
    const auto top = memory.word(state.stack_top);
    if (!top) {
        return false;
    }
    if (fragment.kind == Kind::kCollection) {
        const auto live = *top == state.instruction ? live_before(*top) : std::nullopt;
        state.code_mfa = 0;
        state.arity = live.value_or(0);
        state.stack_top += kWord;
        return live.has_value();
    }
    if (fragment.kind == Kind::kLightBif) {
        // The fragment keeps them there: where the call is entered again, the export entry.
        constexpr Address kCallPlace = 8, kExportEntry = 16;
        const auto entry = memory.word(scheduler.registers + kCallPlace);
        const auto called = memory.word(scheduler.registers + kExportEntry);
        if (!entry || !called || *top <= *entry || *top - *entry > kCallSiteBytes) {
            return false;
        }
        state.code_mfa = *called + export_mfa_.offset;
        state.instruction = *entry;
        state.stack_top += kWord;
    } else {
        std::array<std::uint64_t, kFrameWords> frame{};
        if (!memory.read(scheduler.registers - kWord - sizeof(frame),
                         std::as_writable_bytes(std::span(frame))) ||
            std::ranges::find(frame, fragment.inner) == frame.end()) {
            return false;
        }
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
    return call && call->kind != Kind::kCollection
               ? std::optional(Standing{call->process, call->state, call->kind == Kind::kNif})
               : std::nullopt;
}

std::optional<NativeCalls::Call> NativeCalls::call_of(const target::ThreadRegisters& thread,
                                                      const Scheduler& scheduler) const {
    if (!is_native(thread.rip)) {
        return std::nullopt;
    }
    auto& memory = vm_->target().memory();
    const auto returns_to = memory.word(scheduler.registers - kWord);
    const auto fragment = returns_to
                              ? std::ranges::find(fragments_, *returns_to, &Fragment::returns_to)
                              : fragments_.end();
    const auto process = memory.word(scheduler.data + current_process_->offset);
    if (fragment == fragments_.end() || !process || *process == 0 || *process % kWord != 0) {
        return std::nullopt;
    }
    const auto read = OwnedStruct::read(
        memory, *process,
        static_cast<std::uint32_t>(end_of({htop_, stop_, i_, current_, arity_, fcalls_})));
    if (!read) {
        return std::nullopt;
    }
    const auto view = read->view();
    Call call{fragment->kind,
              *process,
              *returns_to,
              {.code_mfa = view.get(current_),
               .arity = 0,
               .instruction = view.get(i_),
               .heap_top = view.get(htop_),
               .stack_top = view.get(stop_),
               .arguments = scheduler.registers + fragment->arguments,
               .reductions_left = static_cast<std::int32_t>(view.get(fcalls_))}};
    return complete(*fragment, scheduler, view, call.state) ? std::optional(call) : std::nullopt;
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
    auto call = thread.in_system_call ? std::nullopt : call_of(thread);
    if (!call) {
        seen_.erase(thread.thread);
        return false;
    }
    auto [seen, is_new] = seen_.try_emplace(thread.thread, *call, thread);
    if (!is_new && !same(seen->second.call, *call)) {
        seen->second = {*call, thread};
    } else if (seen->second.registers.rip != thread.rip ||
               seen->second.registers.general != thread.general) {
        seen->second.call = *call;
        seen->second.registers = thread;
        ++seen->second.runs;
    }
    return seen->second.runs >= kRunsToStay;
}

std::vector<std::pair<Address, YieldState::State>> NativeCalls::states(
    std::span<const target::ThreadRegisters> threads) const {
    std::vector<std::pair<Address, YieldState::State>> found;
    for (const auto& thread : threads) {
        const auto call = call_of(thread);
        const auto seen = seen_.find(thread.thread);
        const bool stays = call && seen != seen_.end() && seen->second.runs >= kRunsToStay &&
                           same(*call, seen->second.call);
        if (stays || (call && thread.in_system_call && call->kind == Kind::kNif)) {
            found.emplace_back(call->process, call->state);
        }
    }
    return found;
}

}  // namespace beamdump::beam
