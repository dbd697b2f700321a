#include <libdump/base/return_if_error.h>
#include <libsample/profile/sample_stacks.h>

#include <algorithm>
#include <array>
#include <cstring>

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

}  // namespace

Result<SampleStacks> SampleStacks::open(ObservedNode& node, ProcessStacks& stacks,
                                        NodeThreads& threads, std::size_t frames) {
    ASSIGN_OR_RETURN(auto native, NativeFrames::open(node.vm().target()));
    make_stacks_present(node, threads);
    return SampleStacks(node, stacks, threads, std::move(native), frames);
}

bool SampleStacks::on_erlang_stack(const Sample& sample) const {
    const auto* scheduler = threads_->scheduler(sample.thread);
    return scheduler != nullptr && scheduler->kind == records::SCHEDULER_KIND_NORMAL &&
           scheduler->return_slot && !scheduler->stack.contains(sample.at(Register::kRsp)) &&
           node_->in_code(sample.at(Register::kRip));
}

Result<SampleStack> SampleStacks::of(const Sample& sample) {
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

std::vector<NamedFunction> SampleStacks::functions(const NativeFilter& wanted, std::size_t most) {
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

std::string SampleStacks::function_at(Address place) {
    return node_->place_at(place).value_or(std::string(kUnknownFunction));
}

/// Modules that were loaded meanwhile: reads which there are, not more often than now and then.
void SampleStacks::refresh_code() {
    const auto now = std::chrono::steady_clock::now();
    if (now - code_read_ >= kBetweenCodeReadings) {
        code_read_ = now;
        // If it fails, what is known of the code stands.
        (void)node_->refresh_code().has_value();
    }
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

Result<SampleStack> SampleStacks::erlang(const Sample& sample) {
    const auto place = sample.at(Register::kRip);
    const auto top = sample.at(Register::kRsp);
    const auto process = sample.at(Register::kR13);
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
    words_.resize(sample.stack.size() / 8);
    if (inside) {
        words_.resize(std::min<std::uint64_t>(words_.size(), (bounds->hend - top) / 8));
    }
    if (top % 8 != 0 || words_.empty()) {
        shown.kind = SampleKind::kFunctionOnly;
        shown.unknown = UnknownCallers::kNoStack;
        return shown;
    }
    std::memcpy(words_.data(), sample.stack.data(), words_.size() * 8);
    const auto walk = [&] {
        return walk_interrupted(*node_, place,
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

NativeStack SampleStacks::unwind(const Sample& sample, SampleStack& into) {
    if (sample.in_kernel) {
        into.native.emplace_back(kInKernel);
    }
    auto found =
        native_.unwind(sample, [this](Address address) { return node_->in_code(address); });
    for (const auto place : found.places) {
        into.native.push_back(native_.name_at(place));
    }
    return found;
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

}  // namespace beamdump::sampler
