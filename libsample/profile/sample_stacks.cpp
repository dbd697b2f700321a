#include <libdump/base/return_if_error.h>
#include <libsample/native/thread_image.h>
#include <libsample/profile/sample_stacks.h>
#include <libsample/stack/stack_walk.h>
#include <libvm/arch/host.h>
#include <libvm/beam/native/native_calls.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace beamdump::sampler {
namespace {

constexpr std::size_t kKnownProcesses = 65536;
constexpr std::string_view kUnknownFunction = "<unknown function>";
/// Reading which modules there are takes longer than a sample may.
constexpr std::chrono::seconds kBetweenCodeReadings{1};
constexpr Address kSampledStack = 32768;

/// The kernel copies a thread's stack up to the first page that is not there, as a page is that a
/// native function with large arrays has skipped: what called it would be missing. Reading such a
/// page puts a page of zeros in its place, for the kernel too.
void make_stacks_present(ObservedNode& node, const NodeThreads& threads) {
    std::vector<std::byte> stack(kSampledStack);
    for (const auto& [key, scheduler] : threads.all()) {
        const auto begin = scheduler.return_slot.value_or(0) - stack.size();
        if (scheduler.return_slot && scheduler.stack.contains(begin)) {
            // Without it, samples say less.
            (void)node.vm().bulk().read(begin, stack).has_value();
        }
    }
}

/// From the return address on, with the words of kLightBif.
constexpr std::uint64_t kCallBytes = std::uint64_t{4} * 8;

/// Fragments that call the scheduler, which works for no process or for the next one
/// (jit/x86/process_main.cpp, OTP 25 to 29).
bool schedules(std::string_view fragment) {
    static constexpr std::array kFragments = {
        std::string_view("process_main"), std::string_view("do_schedule"),
        std::string_view("context_switch"), std::string_view("context_switch_simplified")};
    return std::ranges::find(kFragments, fragment) != kFragments.end();
}

/// A word of a sample's stack bytes, if they reach as far.
std::optional<std::uint64_t> sampled_word(const Sample& sample, Address address) {
    const auto top = sample.at(Register::kStackPointer);
    if (address < top || address - top + 8 > sample.stack.size()) {
        return std::nullopt;
    }
    std::uint64_t word = 0;
    std::memcpy(&word, sample.stack.data() + (address - top), sizeof(word));
    return word;
}

}  // namespace

Result<SampleStacks> SampleStacks::open(ObservedNode& node, ProcessStacks& stacks,
                                        NodeThreads& threads, std::size_t frames) {
    ASSIGN_OR_RETURN(auto native, target::NativeFrames::open(node.vm().target()));
    make_stacks_present(node, threads);
    return SampleStacks(node, stacks, threads, std::move(native), frames);
}

std::vector<target::NamedFunction> SampleStacks::functions(const NativeFilter& wanted,
                                                           std::size_t most) {
    auto found = native_.functions(
        [&wanted](const std::string& name) { return wanted.matches(name); }, most);
    for (const auto& fragment : node_->shared().fragments()) {
        auto name = function_at(fragment.begin);
        if (found.size() < most && wanted.matches(name)) {
            found.push_back({std::move(name), fragment.begin});
        }
    }
    return found;
}

Result<SampleStack> SampleStacks::of(const Sample& sample, bool stands) {
    stands_ = stands;
    const auto* scheduler = threads_->scheduler(sample.thread);
    if (scheduler == nullptr) {
        SampleStack other{.kind = SampleKind::kOtherThread};
        unwind(sample, other);
        return other;
    }
    if (scheduler->kind != records::SCHEDULER_KIND_NORMAL || !scheduler->return_slot) {
        return dirty(sample, *scheduler);
    }
    // On the thread's own stack, below the registers that are on it, native code runs or is called.
    return on_erlang_stack(sample) ? erlang(sample) : native(sample, *scheduler);
}

bool SampleStacks::on_erlang_stack(const Sample& sample) const {
    const auto* scheduler = threads_->scheduler(sample.thread);
    return scheduler != nullptr && scheduler->kind == records::SCHEDULER_KIND_NORMAL &&
           scheduler->return_slot &&
           (arch::host::kOwnErlangStack ||
            !scheduler->stack.contains(sample.at(Register::kStackPointer))) &&
           node_->in_code(sample.at(Register::kInstruction));
}

Result<std::optional<SampleStack>> SampleStacks::read(const SchedulerPlace& scheduler) {
    const auto process = stacks_->current_process(scheduler.structure);
    if (!process && ends_all(process.error())) {
        return std::unexpected(process.error());
    }
    const auto slot = process ? stacks_->slot_of(*process) : std::nullopt;
    if (!slot) {
        return std::nullopt;
    }
    SampleStack shown{.kind = SampleKind::kReading};
    ASSIGN_OR_RETURN(shown.process, identity(*process));
    ASSIGN_OR_RETURN(auto paused, stacks_->last_pause(*slot));
    if (paused.stack) {
        shown.frames = std::move(paused.stack->frames);
        shown.more = paused.stack->more;
    } else {
        shown.unknown = UnknownCallers::kWentOn;
    }
    return shown;
}

Result<SampleStack> SampleStacks::erlang(const Sample& sample) {
    const auto place = sample.at(Register::kInstruction);
    const auto top = sample.at(Register::kErlangStack);
    const auto stack = sample.erlang_words();
    const auto process = sample.at(Register::kProcess);
    SampleStack shown{.kind = SampleKind::kExact};
    shown.structure = process;
    ASSIGN_OR_RETURN(shown.process, identity(process));
    if (sample.in_kernel) {
        shown.native.emplace_back(kInKernel);
    }
    const bool shared = !node_->code().in_code(place);
    if (!shared && between_functions(*node_, place)) {
        shown.kind = SampleKind::kProcessOnly;
        shown.unknown = UnknownCallers::kBetweenFunctions;
        return shown;
    }
    if (shared) {
        shown.native.push_back(function_at(place));
    } else {
        shown.frames.push_back(function_at(place));
    }
    const auto bounds = stacks_->bounds_of(process);
    const bool inside = bounds && top >= bounds->heap && top < bounds->hend;
    words_.resize(stack.size() / 8);
    if (inside) {
        words_.resize(std::min<std::uint64_t>(words_.size(), (bounds->hend - top) / 8));
    }
    if (top % 8 != 0 || words_.empty()) {
        shown.kind = SampleKind::kFunctionOnly;
        shown.unknown = UnknownCallers::kNoStack;
        return shown;
    }
    std::memcpy(words_.data(), stack.data(), words_.size() * 8);
    const auto walk = [&] {
        return walk_interrupted(*node_, place, sample.link(),
                                {top, words_, inside ? std::optional(bounds->hend) : std::nullopt},
                                most_);
    };
    auto frames = walk();
    if (!frames && frames.error().code == ErrorCode::kImplausible) {
        refresh_code();
        frames = walk();
    }
    RETURN_IF_ERROR(take_frames(std::move(frames), shown));
    if (shown.unknown != UnknownCallers::kNone) {
        shown.kind = shared ? SampleKind::kProcessOnly : SampleKind::kFunctionOnly;
    }
    return shown;
}

Result<SampleStack> SampleStacks::native(const Sample& sample, const SchedulerPlace& scheduler) {
    SampleStack shown{.kind = SampleKind::kProcessOnly};
    const auto slot = *scheduler.return_slot;
    const bool in_jit = node_->in_code(sample.at(Register::kInstruction));
    target::NativeStack unwound;
    if (!in_jit) {
        unwound = unwind(sample, shown);
    } else {
        unwound.caller = target::JitCaller{
            sample.at(Register::kInstruction), sample.at(Register::kProcess),
            sample.at(Register::kSavedStack), sample.at(Register::kSavedStackOf24)};
        if (sample.in_kernel) {
            shown.native.emplace_back(kInKernel);
        }
    }
    auto call = call_of(sample, slot, unwound);
    // Frames that lead elsewhere than the word does were not unwound rightly.
    if (call && unwound.caller && unwound.caller->returns_to != call->returns_to) {
        unwound.caller.reset();
    }
    if (call && call->fragment && schedules(*call->fragment)) {
        shown.kind = SampleKind::kEmulator;
        return shown;
    }
    Address process = 0;
    if (stands_ || !unwound.caller) {
        ASSIGN_OR_RETURN(process, process_of(scheduler));
    }
    // Files that sign return addresses (PAC) are not unwound rightly by each libdw.
    if (unwound.caller && stands_ && unwound.caller->process != process) {
        unwound.caller.reset();
    }
    if (unwound.caller) {
        process = unwound.caller->process;
        shown.call_top = unwound.caller->heap_top;
    }
    if (process == 0) {
        shown.kind = SampleKind::kEmulator;
        return shown;
    }
    shown.structure = process;
    ASSIGN_OR_RETURN(shown.process, identity(process));
    if (!call) {
        shown.unknown = UnknownCallers::kNotUnwound;
        shown.stack_wanted = slot + kCallBytes - sample.at(Register::kStackPointer);
        return shown;
    }
    if (call->fragment) {
        shown.fragment = function_at(call->returns_to);
        shown.native.push_back(call->bif ? *call->bif : shown.fragment);
        shown.after_bif = call->bif && !in_jit && !stacks_->calls_by_register(call->returns_to);
    }
    if (call->place != 0) {
        shown.kind = SampleKind::kFunctionOnly;
        shown.frames.push_back(function_at(call->place));
    }
    RETURN_IF_ERROR(callers_after(*call, slot, process, unwound.caller, shown));
    if (shown.kind == SampleKind::kAllReadAfter && call->fragment &&
        notes_function(*call->fragment)) {
        if (auto noted = stacks_->noted_function(process)) {
            shown.native.back() = std::move(*noted);
        }
    }
    return shown;
}

/// A dirty scheduler's process keeps its stack in its structure, and its return addresses do not
/// change as long as it is there: it runs native code alone.
Result<SampleStack> SampleStacks::dirty(const Sample& sample, const SchedulerPlace& scheduler) {
    SampleStack shown{.kind = SampleKind::kProcessOnly, .unknown = UnknownCallers::kDirty};
    unwind(sample, shown);
    const auto process = stacks_->current_process(scheduler.structure);
    if (!process && ends_all(process.error())) {
        return std::unexpected(process.error());
    }
    const auto slot = process ? stacks_->slot_of(*process) : std::nullopt;
    if (!slot) {
        return shown;
    }
    ASSIGN_OR_RETURN(shown.process, identity(*process));
    ASSIGN_OR_RETURN(auto paused, stacks_->last_pause(*slot));
    const auto now = stacks_->current_process(scheduler.structure);
    const bool still = paused.stack && now && *now == *process;
    if (still) {
        shown.kind = SampleKind::kAllReadAfter;
        shown.unknown = UnknownCallers::kNone;
        shown.frames = std::move(paused.stack->frames);
        shown.more = paused.stack->more;
    }
    return shown;
}

/// The process that a scheduler has now; 0: none, or it cannot be read.
Result<Address> SampleStacks::process_of(const SchedulerPlace& scheduler) {
    const auto current = stacks_->current_process(scheduler.structure);
    return !current && ends_all(current.error()) ? current : Result<Address>(current.value_or(0));
}

target::NativeStack SampleStacks::unwind(const Sample& sample, SampleStack& into) {
    if (sample.in_kernel) {
        into.native.emplace_back(kInKernel);
    }
    auto found = native_.unwind(stack_of(sample),
                                [this](Address address) { return node_->in_code(address); });
    for (const auto place : found.places) {
        into.native.push_back(native_.name_at(place).value_or(std::string(kOutsideFiles)));
    }
    return found;
}

std::optional<SampleStacks::Call> SampleStacks::call_of(const Sample& sample, Address slot,
                                                        const target::NativeStack& unwound) {
    constexpr bool kOnStack = !arch::host::kOwnErlangStack;
    Call call;
    if (const auto here = sample.at(Register::kInstruction); node_->in_code(here)) {
        // Just before or behind the call.
        call.returns_to = here;
    } else if (const auto word = kOnStack ? sampled_word(sample, slot) : unwound.leads_to;
               word && node_->in_code(*word)) {
        call.returns_to = *word;
    } else {
        return std::nullopt;
    }
    if (node_->code().in_code(call.returns_to)) {
        // Minus one: the call may be the last instruction of its function.
        call.place = call.returns_to - 1;
        return call;
    }
    call.fragment = node_->shared().name_at(call.returns_to);
    // Where it has no call, the fragment has put a frame record on the thread's stack, right below
    // the scheduler's registers, to which it leads (jit/arm/beam_asm.hpp,
    // emit_enter_runtime_frame(), OTP 25 to 29).
    if constexpr (!kOnStack) {
        const auto registers = slot + kWordBytes;
        const auto caller = sampled_word(sample, slot);
        if (sampled_word(sample, slot - kWordBytes) == registers && caller &&
            node_->code().in_code(*caller)) {
            call.place = *caller - 1;
        }
    }
    const auto place = sampled_word(sample, slot + 8 + kCallPlace);
    const auto entry = sampled_word(sample, slot + 8 + kExportEntry);
    if (call.fragment == kLightBif && place && entry && node_->code().in_code(*place)) {
        call.place = *place;
        call.call_place = *place;
        call.export_entry = *entry;
        call.bif = stacks_->bif_of(*entry);
    }
    return call;
}

/// The Erlang stack of a process that is in native code: not in the sample, and unchanged during
/// the call.
Result<void> SampleStacks::callers_after(const Call& call, Address slot, Address process,
                                         const std::optional<target::JitCaller>& caller,
                                         SampleStack& into) {
    const auto went_on = [&]() -> Result<void> {
        into.unknown = UnknownCallers::kWentOn;
        return {};
    };
    const auto before = stacks_->bounds_of(process);
    const bool saved = stacks_->takes_saved_stack(call.returns_to);
    if (!before || !(stands_ || still_in(call, slot))) {
        return went_on();
    }
    if (!saved && !caller) {
        into.unknown = UnknownCallers::kNotUnwound;
        return {};
    }
    const auto top = saved ? before->stop : beam::saved_stack(node_->vm(), *caller);
    if (top % 8 != 0 || top < before->heap || top >= before->hend) {
        return went_on();
    }
    words_.resize(std::min<std::uint64_t>((before->hend - top) / 8, kMostStackWords));
    const auto read = node_->vm().bulk().read(top, std::as_writable_bytes(std::span(words_)));
    if (!read && ends_all(read.error())) {
        return std::unexpected(read.error());
    }
    if (!read || !(stands_ || (still_in(call, slot) && stacks_->bounds_of(process) == before))) {
        return went_on();
    }
    auto frames = walk_stack(rules_of(*node_), call.returns_to, {top, words_, before->hend}, most_);
    if (!frames) {
        return ends_all(frames.error()) ? std::unexpected(frames.error()) : went_on();
    }
    // A fragment's first return address is in the function that called it.
    const bool pushed = call.fragment && !arch::host::kOwnErlangStack;
    if (pushed && !add_fragment_return(*node_, words_, *frames)) {
        return went_on();
    }
    auto& returns = frames->returns;
    if (pushed && call.place != 0) {
        if (returns.empty() || function_at(returns.front() - 1) != function_at(call.place)) {
            return went_on();
        }
        returns.erase(returns.begin());
    }
    into.kind = call.place != 0 ? SampleKind::kReadAfter : SampleKind::kAllReadAfter;
    return take_frames(std::move(frames), into);
}

/// Whether the thread is in the same call now, or in an equal one.
bool SampleStacks::still_in(const Call& call, Address slot) {
    std::array<std::uint64_t, 4> now{};
    static_assert(kCallPlace == 8 && kExportEntry == 16);
    if (!node_->vm().bulk().read(slot, std::as_writable_bytes(std::span(now)))) {
        return false;
    }
    return now[0] == call.returns_to &&
           (call.call_place == 0 || (now[2] == call.call_place && now[3] == call.export_entry));
}

Result<std::optional<ProcessIdentity>> SampleStacks::identity(Address process) {
    const auto owner = stacks_->owner_of(process);
    const auto known = known_.find(process);
    if (owner && known != known_.end() && known->second.owner_id == *owner) {
        return known->second;
    }
    const auto slot = owner ? stacks_->slot_of(process) : std::nullopt;
    if (!slot) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(auto found, stacks_->identify(*slot));
    if (found) {
        if (known_.size() >= kKnownProcesses) {
            known_.clear();
        }
        known_.insert_or_assign(process, *found);
    }
    return found;
}

std::string SampleStacks::function_at(Address place) {
    return node_->place_at(place).value_or(std::string(kUnknownFunction));
}

/// Appends functions; the first is that of the instruction, which is not told again.
Result<void> SampleStacks::take_frames(Result<StackFrames> frames, SampleStack& into) {
    if (!frames) {
        if (ends_all(frames.error())) {
            return std::unexpected(frames.error());
        }
        into.unknown = frames.error().code == ErrorCode::kChanged ? UnknownCallers::kHalfMadeFrame
                                                                  : UnknownCallers::kNoStack;
        return {};
    }
    for (const auto address : frames->returns) {
        // Minus one: a call may be the last instruction of its function.
        into.frames.push_back(function_at(address - 1));
    }
    into.more = frames->more;
    return {};
}

/// Modules that were loaded meanwhile: reads which there are, not more often than now and then.
void SampleStacks::refresh_code() {
    if (stands_) {
        code_is_outdated_ = true;
        return;
    }
    const auto now = std::chrono::steady_clock::now();
    if (now - code_read_ >= kBetweenCodeReadings) {
        code_read_ = now;
        // If it fails, what is known of the code stands.
        (void)node_->refresh_code().has_value();
    }
}

void SampleStacks::catch_up() {
    stands_ = false;
    if (std::exchange(code_is_outdated_, false)) {
        refresh_code();
    }
}

}  // namespace beamdump::sampler
