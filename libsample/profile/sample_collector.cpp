#include <libdump/base/return_if_error.h>
#include <libsample/profile/sample_collector.h>
#include <libvm/target/process/clock.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::sampler {
namespace {

constexpr std::size_t kMostDelays = std::size_t{1} << 20U;

}  // namespace

std::optional<std::string> scheduler_text(const SchedulerPlace* scheduler) {
    if (scheduler == nullptr) {
        return std::nullopt;
    }
    switch (scheduler->kind) {
        case records::SCHEDULER_KIND_DIRTY_CPU:
            return fmt::format("dirty CPU scheduler {}", scheduler->number);
        case records::SCHEDULER_KIND_DIRTY_IO:
            return fmt::format("dirty I/O scheduler {}", scheduler->number);
        default:
            return fmt::format("scheduler {}", scheduler->number);
    }
}

void name_functions(const ObservedNode& node, SampleLog& log) {
    log.name_functions([&](const std::string& text) -> std::optional<FunctionAtoms> {
        const auto function = node.function_named(text);
        return function ? std::optional(FunctionAtoms{function->module_atom,
                                                      function->function_atom, function->arity})
                        : std::nullopt;
    });
}

Result<void> SampleCollector::take(NodeEvents& events) {
    Result<void> outcome;
    auto read = events.read([&](const Sample& sample, const std::string& name) {
        if (outcome) {
            outcome = take(sample, name);
        }
    });
    return outcome ? read : outcome;
}

Result<void> SampleCollector::take(const Sample& sample, const std::string& name) {
    if (report_->cut_short) {
        return {};
    }
    ASSIGN_OR_RETURN(const auto found, stacks_->of(sample));
    add(found, sample, name);
    return {};
}

Result<void> SampleCollector::take_stopped(const Sample& sample, const std::string& name,
                                           const std::function<bool()>& ended) {
    if (report_->cut_short) {
        return {};
    }
    ASSIGN_OR_RETURN(auto found, stacks_->of(sample, true));
    if (ended() && found.kind != SampleKind::kOtherThread) {
        // What was read beside the sample may be newer.
        found = {.kind = SampleKind::kProcessOnly, .unknown = UnknownCallers::kWentOn};
    }
    add(found, sample, name);
    return {};
}

void SampleCollector::add(const SampleStack& stack, const Sample& sample, const std::string& name) {
    if (delays_.size() < kMostDelays) {
        delays_.push_back(target::clock_ns(CLOCK_MONOTONIC) -
                          static_cast<std::int64_t>(sample.time_ns));
    }
    add(stack, {sample.thread, name, scheduler_text(threads_->scheduler(sample.thread))});
}

void SampleCollector::add(const SampleStack& stack, const SampledThread& thread) {
    if (report_->log) {
        report_->log->add(stack, thread);
        return;
    }
    if (!report_->profile.add(stack, thread)) {
        report_->cut_short = true;
        report_->remarks.emplace_back(
            "there are more different stacks than are kept: the profile ends early");
    }
}

void SampleCollector::tell_delays() {
    std::ranges::sort(delays_);
    if (!delays_.empty()) {
        report_->delay_ns = delays_[delays_.size() / 2];
        report_->longest_delay_ns = delays_.back();
    }
    delays_.clear();
}

}  // namespace beamdump::sampler
