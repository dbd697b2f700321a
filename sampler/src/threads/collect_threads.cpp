#include "threads/collect_threads.h"

#include "threads/lock_names.h"

#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libsample/counts/node_load.h>
#include <libsample/profile/node_events.h>
#include <libsample/profile/sample_stacks.h>
#include <libvm/beam/activity/schedulers.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/process/proc_directory.h>
#include <libvm/target/process/proc_lines.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>

namespace beamdump::sampler {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLooks{50};
/// Pauses between looks, in parts of what a look took.
constexpr int kPauseParts = 4;
constexpr std::uint64_t kSamplePeriodNs = 10'000'000;
constexpr std::size_t kMostThreadPlaces = 16'384;

bool is_scheduler(const ThreadRole& role) {
    return role.kind == ThreadKind::kScheduler || role.kind == ThreadKind::kDirtyCpu ||
           role.kind == ThreadKind::kDirtyIo;
}

/// What is known of a thread from look to look.
struct Followed {
    ThreadFacts facts{};
    std::uint64_t first_processor_ns = 0, first_delayed_ns = 0, first_switches = 0;
    bool has_first = false;
    std::uint64_t look = 0;              // the last one that saw it
    std::uint64_t node_id = 0;           // in the node's PID namespace; 0: not known
    ThreadRest rest{};                   // when `place` was read
    std::optional<ThreadPlace> place{};  // where it waits, until it runs
};

class ThreadLooks {
  public:
    static Result<ThreadLooks> open(ObservedNode& node, NodeThreads& threads, SampleStacks& samples,
                                    const std::atomic<bool>& cancelled, ThreadsReport& report) {
        ThreadLooks looks(node, threads, samples, cancelled, report);
        ASSIGN_OR_RETURN(looks.directory_, target::ProcDirectory::open(report.pid));
        beam::LayoutNames names(node.vm().layout());
        looks.port_ = names.field(beam::runtime::ErtsSchedulerData::current_port);
        RETURN_IF_ERROR(names.outcome());
        RETURN_IF_ERROR(looks.open_events());
        return looks;
    }

    Result<void> run(std::chrono::milliseconds duration) {
        const auto end = Clock::now() + duration;
        while (true) {
            const auto began = Clock::now();
            RETURN_IF_ERROR(look());
            const auto pause =
                std::max<Clock::duration>(kBetweenLooks, kPauseParts * (Clock::now() - began));
            if (cancelled_ || Clock::now() >= end) {
                break;
            }
            RETURN_IF_ERROR(sample_until(std::min(end, Clock::now() + pause)));
        }
        tell();
        return find_freed();
    }

  private:
    ThreadLooks(ObservedNode& node, NodeThreads& threads, SampleStacks& samples,
                const std::atomic<bool>& cancelled, ThreadsReport& report)
        : node_(node),
          threads_(threads),
          samples_(samples),
          cancelled_(cancelled),
          report_(report) {}

    Result<void> open_events() {
        if (!node_.vm().facts().jit) {
            report_.remarks.emplace_back(
                "the emulator is the interpreter, whose samples do not show what Erlang code runs: "
                "what threads run is not shown");
            return {};
        }
        auto events =
            NodeEvents::open(report_.pid, {.period = kSamplePeriodNs, .random_period = true});
        if (events) {
            events_.emplace(std::move(*events));
            report_.sample_period_ns = kSamplePeriodNs;
            return {};
        }
        const auto code = events.error().code;
        if (code != ErrorCode::kPermission && code != ErrorCode::kUnsupported) {
            return std::unexpected(events.error());
        }
        report_.remarks.push_back(
            fmt::format("{}: what threads run is not shown", events.error().message));
        return {};
    }

    Result<void> sample_until(Clock::time_point then) {
        constexpr std::chrono::milliseconds kLongest{50};
        while (!cancelled_ && Clock::now() < then) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(then - Clock::now());
            const auto wait = std::clamp(left, std::chrono::milliseconds{1}, kLongest);
            if (!events_) {
                std::this_thread::sleep_for(wait);
                continue;
            }
            RETURN_IF_ERROR(events_->wait(wait));
            RETURN_IF_ERROR(take_samples());
        }
        return events_ ? events_->refresh() : Result<void>();
    }

    Result<void> take_samples() {
        Result<void> outcome;
        const auto read = events_->read([&](const Sample& sample, const std::string& /*name*/) {
            if (outcome) {
                outcome = take(sample);
            }
        });
        return outcome ? read : outcome;
    }

    Result<void> take(const Sample& sample) {
        ASSIGN_OR_RETURN(auto stack, samples_.of(sample));
        // One that was born since the last look is counted from the next one on.
        const auto known = followed_.find(sample.thread);
        if (known == followed_.end()) {
            return {};
        }
        auto& facts = known->second.facts;
        ++facts.samples;
        facts.process = stack.process;
        facts.port_number.reset();
        if (const auto* scheduler = threads_.scheduler(sample.thread);
            scheduler != nullptr && !stack.process) {
            const auto port = node_.vm().bulk().word(scheduler->structure + port_.offset);
            facts.without_work += port && *port == 0 ? 1 : 0;
        }
        count(place_of(std::move(stack), true), facts.id);
        return {};
    }

    static ThreadPlace place_of(SampleStack stack, bool on_processor) {
        return {.on_processor = on_processor,
                .native = std::move(stack.native),
                .frames = std::move(stack.frames),
                .more = stack.more || (stack.process && stack.unknown != UnknownCallers::kNone)};
    }

    void count(ThreadPlace place, pid_t thread) {
        const auto known = report_.places.find(place);
        if (known == report_.places.end() && report_.places.size() >= kMostThreadPlaces) {
            ++report_.left_out;
            return;
        }
        auto& counted =
            known == report_.places.end() ? report_.places[std::move(place)] : known->second;
        ++counted.seen;
        ++counted.by_thread[thread];
    }

    /// One look at all threads. Who waits was asleep, and as often off a processor after all was
    /// read as before: what was read is of one moment.
    Result<void> look() {
        ++report_.looks;
        ASSIGN_OR_RETURN(const auto all, threads_of_node(report_.pid));
        const auto roles = roles_of(report_.pid, all);
        std::vector<Followed*> read;
        for (const auto& thread : all) {
            auto& followed = followed_[thread.id];
            followed.look = report_.looks;
            followed.facts.id = thread.id;
            followed.facts.name = thread.name;
            followed.facts.role = roles.at(thread.id);
            ASSIGN_OR_RETURN(const bool is_read, see(followed));
            if (is_read) {
                read.push_back(&followed);
            }
        }
        ASSIGN_OR_RETURN(const auto work, schedulers_with_work(read));
        for (auto* followed : read) {
            confirm(*followed, work);
        }
        for (auto& [id, followed] : followed_) {
            if (followed.place && followed.look == report_.looks) {
                settle_owner(followed);
                ++followed.facts.waits;
                auto place = *followed.place;
                count(std::move(place), id);
            }
        }
        return {};
    }

    /// Reads a thread's state, and where it waits if that is not known. True: `place` is to be
    /// confirmed.
    Result<bool> see(Followed& followed) {
        auto& facts = followed.facts;
        const auto status = directory_.read(fmt::format("task/{}/status", facts.id));
        const auto rest = status ? parse_thread_rest(*status) : std::unexpected(status.error());
        if (!rest) {
            // It has ended meanwhile: the next look does not list it.
            followed.place.reset();
            return false;
        }
        ++facts.looks;
        facts.state = rest->state;
        follow_times(followed, *rest, *status);
        if (followed.place && followed.rest.rested_until(*rest)) {
            return false;
        }
        followed.place.reset();
        facts.wait.reset();
        facts.idle = false;
        if (!rest->sleeps) {
            return false;
        }
        followed.rest = *rest;
        auto image = ThreadImage::waiting(report_.pid, facts.id, node_.vm().target().memory());
        if (!image) {
            if (image.error().code == ErrorCode::kPermission && !told_forbidden_) {
                told_forbidden_ = true;
                report_.remarks.push_back(
                    fmt::format("{}: where threads wait is not shown", image.error().message));
            }
            return false;
        }
        if (!*image) {
            return false;
        }
        ASSIGN_OR_RETURN(auto stack, samples_.of((*image)->sample()));
        auto wait = wait_of((*image)->call());
        if (waits_for_mutex((*image)->call(), stack.native)) {
            wait.what = WaitsFor::kMutex;
        }
        if (is_scheduler(facts.role) && stack.process) {
            RETURN_IF_ERROR(find_table(wait));
        }
        wait.event.reset();
        RETURN_IF_ERROR(name_variable(wait));
        if (wait.descriptor) {
            if (auto file = directory_.link(fmt::format("fd/{}", *wait.descriptor))) {
                wait.file = std::move(*file);
            }
        }
        facts.process = stack.process;
        followed.place = place_of(std::move(stack), false);
        followed.place->wait = std::move(wait);
        return true;
    }

    void follow_times(Followed& followed, const ThreadRest& rest, const std::string& status) {
        auto& facts = followed.facts;
        const auto text = directory_.read(fmt::format("task/{}/schedstat", facts.id));
        const auto ran = text ? processor_ns(*text) : std::nullopt;
        const auto delayed = text ? delayed_ns(*text) : std::nullopt;
        if (!ran || !delayed) {
            return;
        }
        if (!followed.has_first) {
            followed.has_first = true;
            followed.first_processor_ns = *ran;
            followed.first_delayed_ns = *delayed;
            followed.first_switches = rest.switches;
            const auto ids = target::listed_text(status, "NSpid").value_or("");
            // The innermost namespace's comes last.
            followed.node_id = decimal_number(ids.substr(ids.find_last_of('\t') + 1)).value_or(0);
        }
        facts.processor_ns = ran;
        facts.ran_ns = *ran - std::min(*ran, followed.first_processor_ns);
        facts.delayed_ns = *delayed - std::min(*delayed, followed.first_delayed_ns);
        facts.switches = rest.switches - std::min(rest.switches, followed.first_switches);
    }

    /// Of schedulers that sleep: whether they have a process or port, by thread.
    Result<std::map<pid_t, bool>> schedulers_with_work(const std::vector<Followed*>& read) {
        std::map<pid_t, bool> work;
        if (std::ranges::none_of(read, [](const Followed* followed) {
                return is_scheduler(followed->facts.role);
            })) {
            return work;
        }
        auto reader = beam::SchedulerReader::open(node_.vm());
        if (!reader) {
            return work;
        }
        ASSIGN_OR_RETURN(const auto now, reader->read());
        std::map<Address, const records::Scheduler*> by_structure;
        for (const auto& scheduler : now.schedulers.scheduler()) {
            by_structure.emplace(scheduler.struct_address(), &scheduler);
        }
        for (auto* followed : read) {
            const auto* place = threads_.scheduler(followed->facts.id);
            const auto found =
                place == nullptr ? by_structure.end() : by_structure.find(place->structure);
            if (found == by_structure.end() || !found->second->has_sleeping()) {
                continue;
            }
            const auto& scheduler = *found->second;
            followed->facts.port_number.reset();
            if (scheduler.has_current_port_number()) {
                followed->facts.port_number = scheduler.current_port_number();
            }
            work[followed->facts.id] = scheduler.busy() || !scheduler.sleeping();
        }
        return work;
    }

    /// What schedulers free, as they are at the end.
    Result<void> find_freed() {
        auto reader = beam::SchedulerReader::open(node_.vm());
        if (!reader) {
            return {};
        }
        ASSIGN_OR_RETURN(const auto now, reader->read());
        for (auto& facts : report_.threads) {
            const auto* const place = threads_.scheduler(facts.id);
            for (const auto& scheduler : now.schedulers.scheduler()) {
                if (place == nullptr || scheduler.struct_address() != place->structure) {
                    continue;
                }
                if (scheduler.has_freed_owner_id()) {
                    facts.freed_owner_id = scheduler.freed_owner_id();
                }
                if (scheduler.has_off_heap_circle()) {
                    facts.off_heap_circle = scheduler.off_heap_circle();
                }
            }
        }
        return {};
    }

    /// Keeps what was read of a thread if it has not run meanwhile.
    void confirm(Followed& followed, const std::map<pid_t, bool>& work) {
        auto& facts = followed.facts;
        const auto rest = thread_rest(report_.pid, facts.id);
        if (!rest || !followed.rest.rested_until(*rest)) {
            followed.place.reset();
            return;
        }
        const auto known = work.find(facts.id);
        facts.idle = known != work.end() && !known->second;
        followed.place->idle = facts.idle;
        facts.wait = followed.place->wait;
    }

    Result<void> open_names() {
        if (!names_) {
            ASSIGN_OR_RETURN(names_, LockNames::open(node_, samples_));
        }
        return {};
    }

    /// Whether a process waits for the lock of a table.
    Result<void> find_table(ThreadWait& wait) {
        if (!wait.event) {
            return {};
        }
        RETURN_IF_ERROR(open_names());
        ASSIGN_OR_RETURN(wait.variable, names_->table_of(*wait.event));
        if (wait.variable) {
            wait.what = WaitsFor::kTableLock;
        }
        return {};
    }

    Result<void> name_variable(ThreadWait& wait) {
        if (wait.what == WaitsFor::kMutex) {
            RETURN_IF_ERROR(open_names());
            wait.variable = names_->at(*wait.address);
        } else if (wait.address) {
            wait.variable = samples_.variable_at(*wait.address);
        }
        return {};
    }

    /// Who has the mutex that a thread waits for, which may change while that one sleeps.
    void settle_owner(Followed& followed) {
        auto& wait = followed.facts.wait;
        if (!wait || wait->what != WaitsFor::kMutex) {
            return;
        }
        wait->owner_tid.reset();
        wait->owner.reset();
        std::array<std::byte, 12> bytes{};
        if (!node_.vm().bulk().read(*wait->address, bytes)) {
            return;
        }
        wait->owner_tid = mutex_owner(bytes);
        const auto rest = thread_rest(report_.pid, followed.facts.id);
        if (!rest || !followed.rest.rested_until(*rest)) {
            wait->owner_tid.reset();
            return;
        }
        for (const auto& [id, other] : followed_) {
            if (wait->owner_tid && other.node_id == *wait->owner_tid &&
                other.look == report_.looks) {
                wait->owner = id;
            }
        }
    }

    void tell() {
        for (auto& [id, followed] : followed_) {
            if (followed.look == report_.looks && followed.facts.looks != 0) {
                report_.threads.push_back(std::move(followed.facts));
            }
        }
        if (events_) {
            report_.lost = events_->lost();
            report_.not_sampled = events_->not_sampled();
        }
    }

    ObservedNode& node_;
    NodeThreads& threads_;
    SampleStacks& samples_;
    const std::atomic<bool>& cancelled_;
    ThreadsReport& report_;
    target::ProcDirectory directory_;
    beam::Field port_{};
    std::optional<NodeEvents> events_;
    std::optional<LockNames> names_;
    std::map<pid_t, Followed> followed_;
    bool told_forbidden_ = false;
};

}  // namespace

bool ThreadFacts::spins(std::int64_t took_ns) const {
    constexpr std::uint64_t kFewSamples = 5;
    constexpr std::uint64_t kPartOfTime = 4;
    // Nine of ten.
    constexpr std::uint64_t kMost = 9, kOf = 10;
    return is_scheduler(role) && samples >= kFewSamples && without_work * kOf >= samples * kMost &&
           (ran_ns.value_or(0) + delayed_ns.value_or(0)) * kPartOfTime >=
               static_cast<std::uint64_t>(took_ns);
}

Result<ThreadsReport> collect_threads(ObservedNode& node, const ThreadsOptions& options,
                                      const std::atomic<bool>& cancelled) {
    ThreadsReport report{.node = node.name(),
                         .otp_release = node.vm().facts().otp_release,
                         .pid = node.vm().target().pid()};
    if (node.doubt()) {
        report.remarks.push_back(*node.doubt());
    }
    ASSIGN_OR_RETURN(auto stacks, ProcessStacks::open(node, options.frames));
    ASSIGN_OR_RETURN(auto threads, NodeThreads::open(node, stacks));
    ASSIGN_OR_RETURN(auto samples, SampleStacks::open(node, stacks, threads, options.frames));
    ASSIGN_OR_RETURN(auto looks, ThreadLooks::open(node, threads, samples, cancelled, report));
    report.began_us = target::clock_ns(CLOCK_REALTIME) / 1000;
    const auto began = target::clock_ns(CLOCK_MONOTONIC);
    RETURN_IF_ERROR(looks.run(options.duration));
    report.took_ns = target::clock_ns(CLOCK_MONOTONIC) - began;
    return report;
}

}  // namespace beamdump::sampler
