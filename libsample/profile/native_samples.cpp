#include <libdump/base/return_if_error.h>
#include <libsample/profile/sample_stacks.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace beamdump::sampler {
namespace {

constexpr std::uint64_t kMostStackWords = std::uint64_t{1} << 16U;

/// From the return address on, with the words of kLightBif.
constexpr std::uint64_t kCallBytes = 4 * 8;

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
    const auto top = sample.at(Register::kRsp);
    if (address < top || address - top + 8 > sample.stack.size()) {
        return std::nullopt;
    }
    std::uint64_t word = 0;
    std::memcpy(&word, sample.stack.data() + (address - top), sizeof(word));
    return word;
}

}  // namespace

std::optional<SampleStacks::Call> SampleStacks::call_of(const Sample& sample, Address slot) {
    Call call;
    if (const auto here = sample.at(Register::kRip); node_->in_code(here)) {
        // Just before or behind the call.
        call.returns_to = here;
    } else if (const auto word = sampled_word(sample, slot); word && node_->in_code(*word)) {
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

/// The Erlang stack of a process that is in native code: not in the sample, and unchanged during
/// the call.
Result<void> SampleStacks::callers_after(const Call& call, Address slot, Address process,
                                         const std::optional<JitCaller>& caller,
                                         SampleStack& into) {
    const auto went_on = [&]() -> Result<void> {
        into.unknown = UnknownCallers::kWentOn;
        return {};
    };
    const auto before = stacks_->bounds_of(process);
    const bool saved = stacks_->takes_saved_stack(call.returns_to);
    if (!before || !still_in(call, slot)) {
        return went_on();
    }
    if (!saved && !caller) {
        into.unknown = UnknownCallers::kNotUnwound;
        return {};
    }
    const auto top = saved ? before->stop : caller->saved_stack;
    if (top % 8 != 0 || top < before->heap || top >= before->hend) {
        return went_on();
    }
    words_.resize(std::min<std::uint64_t>((before->hend - top) / 8, kMostStackWords));
    const auto read = node_->vm().bulk().read(top, std::as_writable_bytes(std::span(words_)));
    if (!read && ends_all(read.error())) {
        return std::unexpected(read.error());
    }
    if (!read || !still_in(call, slot) || stacks_->bounds_of(process) != before) {
        return went_on();
    }
    auto frames = walk_stack(rules_of(*node_), call.returns_to, {top, words_, before->hend}, most_);
    if (!frames) {
        return ends_all(frames.error()) ? std::unexpected(frames.error()) : went_on();
    }
    // A fragment's first return address is in the function that called it.
    if (call.fragment && !add_fragment_return(*node_, words_, *frames)) {
        return went_on();
    }
    auto& returns = frames->returns;
    if (call.fragment && call.place != 0) {
        if (returns.empty() || function_at(returns.front() - 1) != function_at(call.place)) {
            return went_on();
        }
        returns.erase(returns.begin());
    }
    into.kind = call.place != 0 ? SampleKind::kReadAfter : SampleKind::kAllReadAfter;
    return take_frames(std::move(frames), into);
}

Result<SampleStack> SampleStacks::native(const Sample& sample, const SchedulerPlace& scheduler) {
    SampleStack shown{.kind = SampleKind::kProcessOnly};
    const auto slot = *scheduler.return_slot;
    auto call = call_of(sample, slot);
    const bool in_jit = node_->in_code(sample.at(Register::kRip));
    NativeStack unwound;
    if (!in_jit) {
        unwound = unwind(sample, shown);
    } else {
        unwound.caller = JitCaller{sample.at(Register::kRip), sample.at(Register::kR13),
                                   sample.at(Register::kRbp)};
        if (sample.in_kernel) {
            shown.native.emplace_back(kInKernel);
        }
    }
    // Frames that lead elsewhere than the word does were not unwound rightly.
    if (call && unwound.caller && unwound.caller->returns_to != call->returns_to) {
        unwound.caller.reset();
    }
    if (call && call->fragment && schedules(*call->fragment)) {
        shown.kind = SampleKind::kEmulator;
        return shown;
    }
    Address process = 0;
    if (unwound.caller) {
        process = unwound.caller->process;
        shown.call_top = unwound.caller->heap_top;
    } else {
        const auto current = stacks_->current_process(scheduler.structure);
        if (!current && ends_all(current.error())) {
            return std::unexpected(current.error());
        }
        process = current.value_or(0);
    }
    if (process == 0) {
        shown.kind = SampleKind::kEmulator;
        return shown;
    }
    shown.structure = process;
    ASSIGN_OR_RETURN(shown.process, identity(process));
    if (!call) {
        shown.unknown = UnknownCallers::kNotUnwound;
        shown.stack_wanted = slot + kCallBytes - sample.at(Register::kRsp);
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

}  // namespace beamdump::sampler
