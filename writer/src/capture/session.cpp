#include "capture/session.h"

#include "beam/tables/node_tables.h"
#include "capture/secrets/cookie_search.h"
#include "target/process/clock.h"
#include "target/stop/raised_priority.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace beamdump::capture {
namespace {

/// Of a chain's members the smallest: a heap fragment's header, a link.
constexpr std::uint64_t kSmallestMemberBytes = 40;
/// How often tables of a node that runs are read before they are taken for contradictory.
constexpr int kTableTries = 8;
constexpr std::chrono::milliseconds kBetweenTableTries{2};
constexpr std::chrono::milliseconds kBetweenStopAttempts{50};
/// For how long the output may take nothing while the node is stopped.
constexpr std::chrono::milliseconds kMostWaiting{50};

/// No less memory than the target has.
std::uint64_t most_bytes(const target::Target& target) {
    if (const auto resident = target.resident_bytes()) {
        return *resident;
    }
    std::uint64_t bytes = 0;
    for (const auto& mapping : target.mappings().all()) {
        bytes += mapping.readable ? mapping.range.bytes() : 0;
    }
    return bytes;
}

/// Reads again what contradicts itself: a running node may have altered it meanwhile.
template <typename Read>
Result<void> steadily(const Session::Moving& moving, beam::Vm& vm, const Read& read) {
    for (int attempt = 1;; ++attempt) {
        auto done = read();
        const bool again = !done && attempt < kTableTries && moving() &&
                           (done.error().code == ErrorCode::kImplausible ||
                            done.error().code == ErrorCode::kUnmapped);
        if (!again) {
            return done;
        }
        std::this_thread::sleep_for(kBetweenTableTries);
        vm.forget();
    }
}

void add_stops(const std::vector<target::StopCost>& stops, records::CaptureCost& cost) {
    cost.set_total_stopped_ns(0);
    cost.set_longest_stop_ns(0);
    for (const auto& stop : stops) {
        auto& stopped = *cost.add_stop();
        stopped.set_begin_monotonic_ns(stop.begin_monotonic_ns);
        stopped.set_length_ns(stop.length_ns);
        stopped.set_threads(stop.threads);
        cost.set_total_stopped_ns(cost.total_stopped_ns() + stop.length_ns);
        cost.set_longest_stop_ns(std::max(cost.longest_stop_ns(), stop.length_ns));
    }
}

}  // namespace

Session::Session(const CaptureOptions& options, std::unique_ptr<beam::Vm> vm, Choice choice,
                 DumpWriter writer, ProgressListener& listener, const std::atomic<bool>& cancelled)
    : options_(options),
      vm_(std::move(vm)),
      choice_(std::move(choice)),
      writer_(std::move(writer)),
      listener_(listener),
      cancelled_(cancelled) {}

Result<std::unique_ptr<Session>> Session::begin(const CaptureOptions& options,
                                                std::unique_ptr<beam::Vm> vm,
                                                const LayoutDoubts& doubts, Choice choice,
                                                DumpWriter writer, ProgressListener& listener,
                                                const std::atomic<bool>& cancelled) {
    ASSIGN_OR_RETURN(auto scheme, vm->layout().constant("term_scheme"));
    ASSIGN_OR_RETURN(auto set_aside, beam::SetAside::open(vm->layout()));
    std::unique_ptr<Session> session(new Session(options, std::move(vm), std::move(choice),
                                                 std::move(writer), listener, cancelled));
    auto& self = *session;
    auto& target = self.vm_->target();
    self.set_aside_.emplace(set_aside);
    self.copier_.emplace(self.writer_, self.vm_->bulk(),
                         target.has_swapped_pages() ? &target.pages() : nullptr,
                         static_cast<format::TermScheme>(scheme), self.cookies_.texts());
    self.node_.emplace(*self.vm_, *self.copier_, self.cookies_, self.trailer_);
    self.started_ns_ = target::clock_ns(CLOCK_MONOTONIC);
    // A thread of real-time priority is not held back.
    if (!target::RaisedPriority().real_time()) {
        self.quota_ = target::CpuQuota::of_this_process();
    }
    RETURN_IF_ERROR(self.node_->capture_record(
        options, doubts, target::clock_ns(CLOCK_REALTIME) / 1000, self.started_ns_));
    if (auto said = doubts.sentence(self.vm_->facts().otp_release, self.vm_->layout())) {
        self.warn(std::move(*said));
    }
    return session;
}

Result<void> Session::checkpoint(std::string_view phase, std::uint64_t done,
                                 std::optional<std::uint64_t> total) {
    if (cancelled_) {
        return fail(ErrorCode::kIo,
                    options_.core ? "interrupted; the dump is not complete"
                                  : "interrupted; the node runs on, the dump is not complete");
    }
    listener_.update({phase, done, total, vm_->bulk().stats().bytes, writer_.stats().file_bytes});
    return {};
}

records::VoidReason Session::leave_out(std::span<const std::byte> structure) const {
    if (options_.no_heaps || !choice_.wants(structure)) {
        return records::VOID_REASON_LEFT_OUT;
    }
    return used_up() || exceeds(choice_.bytes(structure)) ? records::VOID_REASON_LIMIT
                                                          : records::VOID_REASON_NONE;
}

/// Whether so many more bytes would go beyond the output's limit, compressed as those before them.
bool Session::exceeds(std::uint64_t bytes) const {
    if (!options_.max_bytes) {
        return false;
    }
    const auto written = writer_.stats();
    const auto ratio = static_cast<double>(written.file_bytes + 1) /
                       static_cast<double>(std::max<std::uint64_t>(written.flat_bytes, 1));
    return static_cast<double>(written.file_bytes) +
               static_cast<double>(bytes) * std::min(ratio, 1.0) >
           static_cast<double>(*options_.max_bytes);
}

bool Session::out_of_time() const {
    return options_.timeout &&
           target::clock_ns(CLOCK_MONOTONIC) - started_ns_ > options_.timeout->count() * 1'000'000;
}

bool Session::used_up() const {
    return out_of_time() ||
           (options_.max_bytes && writer_.stats().file_bytes > *options_.max_bytes);
}

Result<void> Session::epoch(records::MemorySourceKind source) {
    return node_->epoch(++epoch_, source);
}

Result<void> Session::find_code() {
    // The node ran since its tables were found: look again.
    RETURN_IF_ERROR(vm_->refresh());
    ASSIGN_OR_RETURN(auto code, beam::CodeLookup::read(*vm_));
    code_.emplace(std::move(code));
    return {};
}

Result<void> Session::find_cookies_once() {
    vm_->forget();
    return capture::find_cookies(*vm_, *code_, cookies_);
}

Result<void> Session::find_cookies(const Moving& moving) {
    if (!code_) {
        if (auto done = steadily(moving, *vm_, [this] { return find_code(); }); !done) {
            return done;
        }
    }
    auto found = steadily(moving, *vm_, [this] { return find_cookies_once(); });
    if (!found && found.error().code == ErrorCode::kTargetDied) {
        return found;
    }
    cookies_known_ |= found.has_value();
    cookies_unknown_ = cookies_known_ ? std::nullopt : std::optional(found.error());
    return {};
}

Result<void> Session::node_facts(records::MemorySourceKind source, const Moving& moving) {
    if (auto done = steadily(moving, *vm_, [this] { return find_code(); }); !done) {
        return done;
    }
    RETURN_IF_ERROR(find_cookies(moving));
    RETURN_IF_ERROR(epoch(source));
    RETURN_IF_ERROR(node_->node(code_->modules()));
    if (auto done = steadily(moving, *vm_, [this] { return node_->atoms(); }); !done) {
        return done;
    }
    RETURN_IF_ERROR(node_->modules(code_->modules()));
    if (auto done = steadily(moving, *vm_, [this] { return node_->tables(); }); !done) {
        return done;
    }
    ASSIGN_OR_RETURN(auto binaries, BinaryStore::open(*vm_, *copier_, options_.binary_bytes));
    binaries_.emplace(std::move(binaries));
    binaries_->set_moving(moving());
    const auto literals = [this]() -> Result<void> {
        if (options_.no_literals) {
            return node_->no_literals();
        }
        auto done = node_->literals(*binaries_);
        return done ? binaries_->settle() : done;
    };
    RETURN_IF_ERROR(steadily(moving, *vm_, literals));
    return open_processes();
}

Result<void> Session::node_growth() {
    // A cookie that was set meanwhile is among the atoms that are written now.
    RETURN_IF_ERROR(find_cookies(always));
    const auto look_again = [this]() -> Result<void> {
        RETURN_IF_ERROR(vm_->refresh());
        ASSIGN_OR_RETURN(auto modules, beam::read_modules(*vm_));
        RETURN_IF_ERROR(node_->atoms());
        RETURN_IF_ERROR(node_->modules(modules));
        RETURN_IF_ERROR(node_->tables());
        if (options_.no_literals) {
            return {};
        }
        RETURN_IF_ERROR(node_->literals(*binaries_));
        return binaries_->settle();
    };
    return steadily(always, *vm_, look_again);
}

Result<void> Session::open_processes() {
    ASSIGN_OR_RETURN(auto table, beam::ProcessTable::open(*vm_));
    table_.emplace(table);
    index_.emplace(writer_);
    auto& target = vm_->target();
    ASSIGN_OR_RETURN(
        auto processes,
        ProcessCapture::open({*vm_, *code_, *copier_, *binaries_, *index_,
                              most_bytes(target) / kSmallestMemberBytes,
                              !target.has_swapped_pages(), node_->initial_call_atom()}));
    processes_.emplace(std::move(processes));
    return {};
}

target::Settling Session::settling(std::chrono::nanoseconds longest) {
    return {[this](const target::ThreadRegisters& thread) {
                return set_aside_->certain(thread, vm_->target().memory());
            },
            longest};
}

void Session::stands(std::span<const target::ThreadRegisters> threads) {
    set_aside_->learn(threads, vm_->target().memory());
}

std::optional<std::chrono::nanoseconds> Session::await_quota() {
    if (!quota_) {
        return std::nullopt;
    }
    std::this_thread::sleep_for(quota_->period);
    return quota_->unthrottled();
}

Result<target::TimedStop> Session::stop(std::optional<std::chrono::nanoseconds> longest,
                                        target::Settling settling) {
    const auto unthrottled = await_quota();
    if (longest && unthrottled && *unthrottled < *longest) {
        longest = unthrottled;
        settling.longest = std::min(settling.longest, *unthrottled / 4);
        if (!std::exchange(told_of_quota_, true)) {
            warn(
                fmt::format("a cgroup's quota gives this program {:.0f}% of a processor: a stop of "
                            "the node lasts {:.1f} ms at most",
                            100.0 * static_cast<double>(quota_->runtime.count()) /
                                static_cast<double>(quota_->period.count()),
                            static_cast<double>(longest->count()) / 1e6));
        }
    }
    target::TimedStopTerms terms{.longest = longest, .settling = std::move(settling)};
    terms.cut_short = [this] {
        const bool stalled = writer_.waiting() > kMostWaiting;
        output_stalled_ = output_stalled_ || stalled;
        return stalled || cancelled_ || out_of_time();
    };
    terms.holds = &holds();
    const auto pid = vm_->target().pid();
    for (int attempt = 1;; ++attempt) {
        auto stop = target::TimedStop::begin(pid, terms);
        const bool again = !stop && stop.error().code == ErrorCode::kLimit &&
                           attempt < kStopAttempts && !target::has_hanging_thread(pid);
        if (!again) {
            return stop;
        }
        // The machine is busy: threads that are let run on may not soon get to where they stop.
        terms.settling.reset();
        std::this_thread::sleep_for(kBetweenStopAttempts);
        await_quota();
    }
}

void Session::stop_ended() {
    moves_on();
    vm_->forget();
    if (binaries_) {
        binaries_->set_moving(true);
    }
    if (output_stalled_.exchange(false)) {
        warn(
            fmt::format("the output took nothing for {} ms while the node was stopped, so the node "
                        "was let go: processes that were not read by then are left out",
                        kMostWaiting.count()));
    }
}

target::Holds& Session::holds() {
    return options_.holds != nullptr ? *options_.holds : own_holds_;
}

bool Session::go_on_without_stops(const Error& error, std::size_t left) {
    const bool refused = error.code == ErrorCode::kLimit || error.code == ErrorCode::kPermission ||
                         error.code == ErrorCode::kUnsupported || error.code == ErrorCode::kExists;
    if (refused) {
        warn(
            fmt::format("{} processes did not hold still and are left out, since the node could "
                        "not be stopped for them: {}",
                        left, error.message));
    }
    return refused;
}

Result<void> Session::totals() {
    RETURN_IF_ERROR(binaries_->finish(trailer_));
    auto& totals = *trailer_.mutable_totals();
    totals.MergeFrom(index_->totals());
    totals.set_binaries(binaries_->count());
    totals.set_binary_bytes(binaries_->bytes());
    totals.set_binary_bytes_captured(binaries_->captured_bytes());
    totals.set_words_captured(processes_->words());
    if (cookies_unknown_) {
        warn(
            fmt::format("the cookies that the process auth holds could not be found, and may be in "
                        "the dump: {}",
                        cookies_unknown_->message));
    }
    if (cookies_.any_weak()) {
        warn(
            "a cookie of the node is shorter than 4 characters or a word that every node has, and "
            "may be in the dump: treat the dump as if it had the cookie in it");
    }
    if (binaries_->unreadable() != 0) {
        warn(fmt::format("{} binaries could not be read", binaries_->unreadable()));
    }
    if (processes_->unrecognised() != 0) {
        warn(fmt::format("{} slots of the process table hold no process",
                         processes_->unrecognised()));
    }
    return index_->finish(trailer_);
}

Result<CaptureReport> Session::finish() {
    RETURN_IF_ERROR(totals());
    auto& cost = *trailer_.mutable_cost();
    add_stops(holds().costs(), cost);
    cost.set_elapsed_ns(target::clock_ns(CLOCK_MONOTONIC) - started_ns_);
    cost.set_bytes_read(vm_->bulk().stats().bytes);
    cost.set_reads(vm_->bulk().stats().reads);
    cost.set_retries(retries_);
    trailer_.set_finished_us(target::clock_ns(CLOCK_REALTIME) / 1000);

    CaptureReport report;
    report.totals = trailer_.totals();
    report.cost = cost;
    report.warnings.assign(trailer_.warning().begin(), trailer_.warning().end());
    report.otp_release = vm_->facts().otp_release;
    report.node_name = node_->name();
    ASSIGN_OR_RETURN(auto written, writer_.finish(trailer_));
    report.written = written;
    return report;
}

}  // namespace beamdump::capture
