#include "capture/modes/process_retrier.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/format/unpaused_run.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/target/process/clock.h>

#include <fmt/format.h>

#include <chrono>
#include <numeric>
#include <thread>

namespace beamdump::capture {
namespace {

/// A process that waits for a processor of the machine does not pause either: this is longer than a
/// thread waits for one, also within a small quota of processor time.
constexpr std::int64_t kUnpausedNs = 300'000'000;
constexpr std::chrono::milliseconds kBetweenLooksAtRuns{10};
/// How many stops a process may be found on its way to a yield point, where more of it is known.
constexpr int kStopsForAYieldPoint = 3;

}  // namespace

Result<ProcessRetrier> ProcessRetrier::open(Session& session) {
    ASSIGN_OR_RETURN(auto proof,
                     beam::ProcessProof::open(session.vm().layout(), session.vm().bulk()));
    ASSIGN_OR_RETURN(auto sizer, beam::ProcessSizer::open(session.vm()));
    beam::LayoutNames names(session.vm().layout());
    const auto id = names.field(beam::runtime::Process::common_id);
    const auto reductions = names.field(beam::runtime::Process::reds);
    RETURN_IF_ERROR(names.outcome());
    return ProcessRetrier(session, std::move(proof), sizer, id, reductions);
}

/// The run of a process that is running; nullopt: it is not, or it collects.
std::optional<Pending::Run> ProcessRetrier::run_of(const beam::ProcessReading& reading) const {
    if (proof_.busy(reading) != records::VOID_REASON_RUNNING) {
        return std::nullopt;
    }
    const beam::StructView view(reading.structure);
    const auto& stops = session_->stopper().stops().costs();
    return Pending::Run{
        view.get(id_), view.get(reductions_), target::clock_ns(CLOCK_MONOTONIC),
        std::accumulate(stops.begin(), stops.end(), std::int64_t{0},
                        [](std::int64_t sum, const auto& stop) { return sum + stop.length_ns; })};
}

/// With the structure in before_. Erlang code is scheduled out after 4,000 reductions, about a
/// millisecond, and they are added to the process's (erts_schedule(), erl_process.c).
void ProcessRetrier::note_run(Pending& pending) const {
    const auto now = run_of(before_);
    const bool same = now && pending.run && now->id == pending.run->id &&
                      now->reductions == pending.run->reductions;
    if (!same) {
        pending.run = now;
        pending.unpaused.clear();
    }
}

/// That the process has run without a pause, for how long at least; empty: it has not.
Result<std::string> ProcessRetrier::unpaused(Pending& pending) {
    // In a node that a signal has stopped nothing pauses.
    while (pending.run && !session_->used_up() && session_->vm().target().state() != 'T') {
        const auto first = *pending.run;
        ASSIGN_OR_RETURN(const bool here, proof_.read(pending.slot.address, before_));
        if (!here) {
            break;
        }
        note_run(pending);
        const auto now = run_of(before_);
        if (!now || !pending.run || pending.run->since_ns != first.since_ns) {
            break;
        }
        const auto ran = now->since_ns - first.since_ns - (now->stopped_ns - first.stopped_ns);
        if (ran >= kUnpausedNs) {
            constexpr std::int64_t kMillisecond = 1'000'000;
            return fmt::format("{}{} ms", format::kUnpausedRun,
                               count_text(static_cast<std::uint64_t>(ran / kMillisecond)));
        }
        std::this_thread::sleep_for(kBetweenLooksAtRuns);
    }
    return {};
}

Result<void> ProcessRetrier::look_for_unpaused(std::span<Pending> pending) {
    for (auto& process : pending) {
        ASSIGN_OR_RETURN(process.unpaused, unpaused(process));
    }
    return {};
}

/// Reads the structure of the process that is in the slot now. False: the slot is empty.
Result<bool> ProcessRetrier::look_at(Pending& pending) {
    if (pending.tries != 0) {
        ASSIGN_OR_RETURN(auto used, session_->table().used(pending.slot.slot, 1));
        if (used.empty()) {
            return false;
        }
        pending.slot = used.front();
    }
    return proof_.read(pending.slot.address, before_);
}

/// Since before_ was read.
Result<records::VoidReason> ProcessRetrier::changed(const Pending& pending) {
    ASSIGN_OR_RETURN(auto read, proof_.read(pending.slot.address, after_));
    return read ? proof_.changed(before_, after_) : records::VOID_REASON_EXITING;
}

/// With the structure in before_.
Result<bool> ProcessRetrier::capture(Pending& pending,
                                     const std::vector<memory::HeldPart>* contents,
                                     const Watch* watch, bool standing) {
    ++pending.tries;
    // Before registers complete the structure.
    note_run(pending);
    Try request{pending.slot, before_.structure, session_->epoch_number(), pending.tries};
    const auto& yield_state = session_->stopper().yield_state();
    const auto* state = yield_state.of(pending.slot.address);
    if (state != nullptr) {
        request.in_function = state->in_function;
        request.without_frame = state->without_frame;
        request.without_x_registers = state->without_x_registers;
    }
    const bool on_its_way = state != nullptr && state->on_its_way;
    if (!on_its_way || pending.anywhere || ++pending.stops_on_its_way > kStopsForAYieldPoint) {
        request.yielded = yield_state.apply(pending.slot.address, before_.structure);
    }
    request.own_collection =
        yield_state.apply_to_collection(pending.slot.address, before_.structure);
    request.contents = contents;
    request.standing = standing;
    request.unclear = session_->stopper().collectors().unclear(pending.slot.address);
    request.mended = session_->stopper().collectors().mended(pending.slot.address);
    request.skip_reason = session_->skip_reason(before_.structure);
    request.last = request.skip_reason != records::VOID_REASON_NONE;
    request.unpaused = pending.unpaused;
    if (!request.last) {
        pending.detail.clear();
        pending.reason = request.yielded ? records::VOID_REASON_NONE : proof_.busy(before_);
        const bool collecting = pending.reason == records::VOID_REASON_COLLECTING;
        if (!(collecting && request.standing) && pending.reason != records::VOID_REASON_NONE) {
            return false;
        }
    }
    request.watch = watch;
    ASSIGN_OR_RETURN(auto outcome, session_->processes().capture(request));
    pending.reason = outcome.reason;
    pending.detail = outcome.detail;
    return request.last || outcome.no_process || outcome.reason == records::VOID_REASON_NONE;
}

Result<bool> ProcessRetrier::attempt(Pending& pending, const Watch* watch) {
    ASSIGN_OR_RETURN(auto here, look_at(pending));
    if (!here) {
        return true;
    }
    // Data read before the structure may be older than the data it points to.
    session_->vm().forget();
    const Watch same = [&]() -> Result<records::VoidReason> {
        return session_->used_up() ? records::VOID_REASON_LIMIT : changed(pending);
    };
    const bool standing = watch != nullptr;
    if (watch == nullptr && session_->options().validate) {
        watch = &same;
    }
    return capture(pending, nullptr, watch, standing);
}

Result<bool> ProcessRetrier::attempt(Pending& pending, const ReadTogether& read) {
    before_ = *read.before;
    auto& vm = session_->vm();
    const auto reads = vm.reads_beyond_prefetched();
    const Watch same = [&]() -> Result<records::VoidReason> {
        if (session_->used_up()) {
            return records::VOID_REASON_LIMIT;
        }
        // What was read together is known to be consistent; anything else is newer.
        return vm.reads_beyond_prefetched() == reads ? records::VOID_REASON_NONE : changed(pending);
    };
    return capture(pending, read.contents, &same, false);
}

Result<std::optional<beam::ProcessSize>> ProcessRetrier::size(const Pending& pending) {
    ASSIGN_OR_RETURN(auto read, proof_.read(pending.slot.address, after_));
    return read ? std::optional(sizer_.size(after_.structure)) : std::nullopt;
}

Result<void> ProcessRetrier::list(std::span<Pending> pending) {
    for (auto& process : pending) {
        session_->vm().forget();
        if (process.reason == records::VOID_REASON_RUNNING) {
            RETURN_IF_ERROR(look_for_unpaused(std::span(&process, 1)));
            process.detail = process.unpaused;
        }
        ASSIGN_OR_RETURN(auto here, look_at(process));
        if (!here) {
            continue;
        }
        Try request{process.slot, before_.structure, session_->epoch_number(), process.tries};
        request.skip_reason = process.reason;
        request.skip_detail = process.detail;
        RETURN_IF_ERROR(session_->processes().capture(request));
    }
    return {};
}

}  // namespace beamdump::capture
