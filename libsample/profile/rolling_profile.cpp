#include <libdump/base/return_if_error.h>
#include <libdump/profile/profile_report.h>
#include <libdump/profile/sample_pages.h>
#include <libsample/profile/node_events.h>
#include <libsample/profile/rolling_profile.h>
#include <libsample/profile/sample_collector.h>
#include <libsample/profile/sample_stacks.h>
#include <libvm/target/process/clock.h>

#include <chrono>
#include <optional>
#include <utility>

namespace beamdump::sampler {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostFramesOfAStack = 64;
/// Room for some samples of a scheduler: they wait while their taker does something else.
constexpr std::size_t kRingPages = 64;
constexpr std::chrono::seconds kBetweenNewThreads{1};

}  // namespace

/// In the order in which they refer to one another.
struct RollingProfile::Parts {
    std::unique_ptr<ObservedNode> node;
    std::optional<ProcessStacks> processes{};
    std::optional<NodeThreads> threads{};
    std::optional<SampleStacks> stacks{};
    std::optional<NodeEvents> events{};
    ProfileReport report{.node = {}, .otp_release = {}, .profile = Profile(SamplesBy::kNone)};
    std::optional<SampleCollector> collector{};
    int descriptor = -1;
    bool kernel_seen = true;
    std::uint32_t rate = 0;
    std::int64_t began_ns = 0;  // of the clock that is never set
    std::uint64_t lost = 0;     // before this report
    std::chrono::steady_clock::time_point threads_listed{};

    Result<void> open() {
        ASSIGN_OR_RETURN(auto of_processes, ProcessStacks::open(*node, kMostFramesOfAStack));
        processes.emplace(std::move(of_processes));
        ASSIGN_OR_RETURN(auto of_node, NodeThreads::open(*node, *processes));
        threads.emplace(std::move(of_node));
        ASSIGN_OR_RETURN(auto of_samples,
                         SampleStacks::open(*node, *processes, *threads, kMostFramesOfAStack));
        stacks.emplace(std::move(of_samples));
        begin_report();
        collector.emplace(*stacks, *threads, report);
        ASSIGN_OR_RETURN(auto opened, NodeEvents::open(report.pid, {.period = report.period_ns(),
                                                                    .random_period = true,
                                                                    .ring_pages = kRingPages}));
        events.emplace(std::move(opened));
        ASSIGN_OR_RETURN(descriptor, events->descriptor());
        kernel_seen = events->kernel_seen();
        return {};
    }

    void begin_report() {
        report = {.node = node->name(),
                  .otp_release = node->vm().facts().otp_release,
                  .pid = node->vm().target().pid(),
                  .began_us = target::clock_ns(CLOCK_REALTIME) / 1000,
                  .rate = rate,
                  .profile = Profile(SamplesBy::kNone),
                  .log = SampleLog()};
        began_ns = target::clock_ns(CLOCK_MONOTONIC);
        node->keep_functions();
    }
};

RollingProfile::RollingProfile(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
RollingProfile::RollingProfile(RollingProfile&& other) noexcept = default;
RollingProfile& RollingProfile::operator=(RollingProfile&& other) noexcept = default;
RollingProfile::~RollingProfile() = default;

Result<RollingProfile> RollingProfile::open(pid_t pid, const beam::LocateOptions& how,
                                            std::uint32_t rate,
                                            const std::atomic<bool>& cancelled) {
    ASSIGN_OR_RETURN(auto node, ObservedNode::open(pid, how, cancelled));
    RETURN_IF_ERROR(node->check_machine_code());
    RETURN_IF_ERROR(node->check_samples());
    auto parts = std::make_unique<Parts>(std::move(node));
    parts->rate = rate;
    RETURN_IF_ERROR(parts->open());
    return RollingProfile(std::move(parts));
}

int RollingProfile::descriptor() const {
    return parts_->descriptor;
}

Result<void> RollingProfile::take() {
    // Threads that have ended are noted.
    RETURN_IF_ERROR(parts_->events->wait(milliseconds(0)));
    RETURN_IF_ERROR(parts_->collector->take(*parts_->events));
    const auto now = std::chrono::steady_clock::now();
    if (now - parts_->threads_listed < kBetweenNewThreads) {
        return {};
    }
    parts_->threads_listed = now;
    return parts_->events->refresh();
}

records::Samples RollingProfile::next(std::size_t most_bytes) {
    auto& report = parts_->report;
    report.took_ns = target::clock_ns(CLOCK_MONOTONIC) - parts_->began_ns;
    report.lost = parts_->events->lost() - std::exchange(parts_->lost, parts_->events->lost());
    report.not_sampled = parts_->events->not_sampled();
    report.kernel_seen = parts_->kernel_seen;
    parts_->collector->tell_delays();
    name_functions(*parts_->node, *report.log);
    auto samples = bounded_samples(report, most_bytes);
    parts_->begin_report();
    return samples;
}

std::optional<std::string> RollingProfile::atom_name(std::uint32_t index) {
    return parts_->node->atom_name(index);
}

}  // namespace beamdump::sampler
