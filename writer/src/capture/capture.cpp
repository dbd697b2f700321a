#include "capture/capture.h"

#include "capture/modes/at_rest.h"
#include "capture/modes/live.h"
#include "capture/modes/snapshot.h"
#include "capture/modes/stops.h"
#include "capture/node/node_capture.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/fit/layout_check.h>
#include <libvm/nodes/locate_options.h>
#include <libvm/target/core/core_target.h>
#include <libvm/target/live_target.h>

#include <fmt/format.h>

#include <new>
#include <span>
#include <system_error>
#include <thread>

namespace beamdump::capture {
namespace {

constexpr int kRoundsLive = 9;         // half a second in all
constexpr int kRoundsBeforeAStop = 4;  // 15 ms
/// Captures in one stop that lasts as long as copying everything.
constexpr std::chrono::milliseconds kLongestSettling{50};
/// The part of a stop's time in which a process may be copied where a twin can be made instead.
constexpr int kPartForACopy = 4;
/// Stops of mode freeze after the first, for large processes, between which the node runs, which on
/// a busy machine takes longer; and twins for processes that stood where they could not be
/// captured.
constexpr int kMostFurtherStops = 10;
/// All stops for twins of mode snapshot after the first may take so many times as long as one may.
constexpr int kFurtherTwins = 4;
constexpr std::chrono::milliseconds kFirstFurtherWait{1};
constexpr std::chrono::milliseconds kLongestFurtherWait{64};

/// Whether the node has ended. A dying process loses its memory shortly before it becomes a zombie.
bool has_ended(const target::Target& node, const Error& error) {
    for (int look = 0; look < 100 && node.alive(); ++look) {
        if (error.code != ErrorCode::kTargetDied) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return !node.alive();
}

/// Captures in further stops large processes that stood where they could not be captured, as one in
/// native code does.
Result<void> freeze_again(Session& session, std::span<const beam::IdSlot> left) {
    if (left.empty()) {
        return {};
    }
    session.processes().binaries().set_moving(true);
    ASSIGN_OR_RETURN(auto retrier, ProcessRetrier::open(session));
    std::vector<Pending> pending;
    for (const auto& slot : left) {
        pending.push_back({slot, 1, records::VOID_REASON_CHANGED});
    }
    auto wait = kFirstFurtherWait;
    for (int stops = 0; stops < kMostFurtherStops && !pending.empty() && !session.used_up();
         ++stops) {
        std::this_thread::sleep_for(wait);
        wait = std::min(wait * 2, kLongestFurtherWait);
        RETURN_IF_ERROR(session.checkpoint("restless processes", 0, pending.size()));
        RETURN_IF_ERROR(session.epoch(records::MEMORY_SOURCE_STOPPED));
        session.stopper().await_good_moment();
        auto stop = session.stop(std::nullopt, session.stopper().settling(kLongestSettling));
        if (!stop && session.can_continue_without_stops(stop.error(), pending.size())) {
            break;
        }
        if (!stop) {
            return std::unexpected(stop.error());
        }
        session.vm().forget();
        session.count_retries(pending.size());
        const ProcessRetrier::Watch watch = [&stop] { return stop->watch(); };
        std::vector<Pending> still;
        for (auto& process : pending) {
            ASSIGN_OR_RETURN(const bool done, retrier.attempt(process, &watch));
            if (!done) {
                still.push_back(process);
            }
        }
        stop->end();
        pending = std::move(still);
    }
    return retrier.list(pending);
}

/// Captures everything, tables included, in one stop: the node as of one moment. If the stop ends
/// by itself the rest is read as in freeze_for().
Result<void> freeze(Session& session) {
    RETURN_IF_ERROR(session.find_cookies(Session::always));
    session.stopper().await_good_moment();
    ASSIGN_OR_RETURN(auto stop,
                     session.stop(std::nullopt, session.stopper().settling(kLongestSettling)));
    RETURN_IF_ERROR(
        session.node_facts(records::MEMORY_SOURCE_STOPPED, [&stop] { return stop.expired(); }));
    const ProcessRetrier::Watch watch = [&stop] { return stop.watch(); };
    ASSIGN_OR_RETURN(auto left, capture_at_rest(session, LeftOver::kLargeAreReturned, &watch));
    RETURN_IF_ERROR(session.ets_rows(false, &watch));
    const bool whole = !stop.expired() && !session.ets_rows_left() && left.empty();
    stop.end();
    RETURN_IF_ERROR(freeze_again(session, left));
    RETURN_IF_ERROR(session.ets_rows(true, nullptr));
    return whole ? Result<void>() : session.node_growth();
}

/// Captures the tables before and after the stop, and the processes in it, until the time is up.
Result<void> freeze_for(Session& session, std::chrono::milliseconds longest) {
    RETURN_IF_ERROR(session.node_facts(records::MEMORY_SOURCE_LIVE, Session::always));
    RETURN_IF_ERROR(session.epoch(records::MEMORY_SOURCE_STOPPED));
    ASSIGN_OR_RETURN(auto stop, session.stop(longest, session.stopper().settling(longest / 4)));
    session.vm().forget();
    const ProcessRetrier::Watch watch = [&stop] { return stop.watch(); };
    RETURN_IF_ERROR(capture_at_rest(session, LeftOver::kListed, &watch));
    RETURN_IF_ERROR(session.ets_rows(false, &watch));
    stop.end();
    RETURN_IF_ERROR(session.ets_rows(true, nullptr));
    return session.node_growth();
}

/// How long the node was stopped, in all.
std::chrono::nanoseconds stopped(Session& session) {
    std::chrono::nanoseconds sum{};
    for (const auto& cost : session.stopper().stops().costs()) {
        sum += std::chrono::nanoseconds(cost.length_ns);
    }
    return sum;
}

/// Retries processes that kept changing: once more live, then in stops, then, if too large for a
/// stop, from a twin. Those that remain are listed without memory.
/// `longest`: of a stop. `for_twins`: of all stops for twins together.
Result<void> restless(Session& session, ProcessRetrier& retrier, target::LiveTarget& target,
                      std::vector<Pending> pending, bool with_twin,
                      std::chrono::nanoseconds longest, std::chrono::nanoseconds for_twins) {
    RETURN_IF_ERROR(try_again(session, retrier, pending, kRoundsBeforeAStop));
    RETURN_IF_ERROR(retrier.look_for_unpaused(pending));
    // A twin of a large process costs a shorter stop than its copy.
    std::vector<Pending> too_large;
    ASSIGN_OR_RETURN(const bool stoppable,
                     capture_in_stops(session, retrier, pending, too_large, longest,
                                      with_twin ? longest / kPartForACopy : longest));
    // A process may have stood where it could not be captured: another twin is made while the stops
    // of those before have left time.
    const auto before = stopped(session);
    bool made = false;
    bool again = stoppable && with_twin;
    for (int twins = 0; again && !too_large.empty() && twins < kMostFurtherStops; ++twins) {
        const auto left = std::min(longest, for_twins - (stopped(session) - before));
        if (left < longest / 4 || session.used_up()) {
            break;
        }
        ASSIGN_OR_RETURN(again, capture_from_twin(session, retrier, target, too_large, left));
        made = made || again;
    }
    if (stoppable && with_twin && !made && !too_large.empty()) {
        std::vector<Pending> larger;
        RETURN_IF_ERROR(capture_in_stops(session, retrier, too_large, larger, longest, longest));
        too_large.insert(too_large.end(), larger.begin(), larger.end());
    }
    pending.insert(pending.end(), too_large.begin(), too_large.end());
    return retrier.list(pending);
}

Result<void> snapshot(Session& session, target::LiveTarget& target) {
    RETURN_IF_ERROR(session.find_cookies(Session::always));
    ASSIGN_OR_RETURN(auto left, capture_snapshot(session, target));
    if (!left.pending.empty()) {
        RETURN_IF_ERROR(session.epoch(records::MEMORY_SOURCE_LIVE));
    }
    ASSIGN_OR_RETURN(auto retrier, ProcessRetrier::open(session));
    // A stop may be as the one for its twin was, on a machine that is busier now.
    const auto longest = std::max<std::chrono::nanoseconds>(kDefaultPause, 2 * stopped(session));
    RETURN_IF_ERROR(restless(session, retrier, target, std::move(left.pending), !left.abandoned,
                             longest, kFurtherTwins * longest));
    RETURN_IF_ERROR(session.ets_rows(true, nullptr));
    return session.node_growth();
}

Result<void> live(Session& session, target::LiveTarget& target, bool with_stops) {
    RETURN_IF_ERROR(session.node_facts(records::MEMORY_SOURCE_LIVE, Session::always));
    ASSIGN_OR_RETURN(auto retrier, ProcessRetrier::open(session));
    ASSIGN_OR_RETURN(auto pending, capture_live(session, retrier));
    if (with_stops) {
        const auto longest = session.options().max_pause.value_or(kDefaultPause);
        RETURN_IF_ERROR(
            restless(session, retrier, target, std::move(pending), true, longest, longest));
    } else {
        RETURN_IF_ERROR(try_again(session, retrier, pending, kRoundsLive));
        RETURN_IF_ERROR(retrier.list(pending));
    }
    RETURN_IF_ERROR(session.ets_rows(true, nullptr));
    return session.node_growth();
}

Result<void> capture_by_mode(Session& session, target::LiveTarget& target) {
    const auto& options = session.options();
    switch (options.mode) {
        case records::CAPTURE_MODE_FREEZE:
            return options.max_pause ? freeze_for(session, *options.max_pause) : freeze(session);
        case records::CAPTURE_MODE_LIVE:
            return live(session, target, false);
        case records::CAPTURE_MODE_AUTO:
            return live(session, target, true);
        case records::CAPTURE_MODE_SNAPSHOT:
            return snapshot(session, target);
        default:
            return fail(ErrorCode::kUsage, "unknown capture mode");
    }
}

/// The options of a capture, and the receiver of its notifications.
struct Request {
    const CaptureOptions& options;
    const MakeWriter& make_writer;
    ProgressListener& listener;
    const std::atomic<bool>& cancelled;
};

/// The warning about a layout that was not made for the node's release.
Result<LayoutDoubts> doubts(const Request& request, const fit::CheckedVm& checked,
                            const fit::OpenTarget& open, const beam::LocateOptions& how) {
    LayoutDoubts doubts;
    if (checked.of_the_release()) {
        const auto& compared = checked.vm->layout().compared();
        if (compared && !compared->holds(checked.vm->facts().erts_version)) {
            doubts.other_than = compared;
        }
        return doubts;
    }
    const auto on_progress = [&](std::size_t done, std::size_t total) {
        request.listener.update({"fields", done, total, 0, 0});
    };
    ASSIGN_OR_RETURN(auto fit,
                     fit::probe_layout(checked, open, how, on_progress, request.cancelled));
    doubts.unverified_fields = std::move(fit.fields.unseen);
    if (checked.inferred) {
        doubts.inferred_from = checked.inferred->from;
        doubts.left_out = checked.inferred->left_out;
    }
    return doubts;
}

/// Locates the VM in a target, checks it at most `tries` times, and begins the dump.
Result<std::unique_ptr<Session>> begin(const Request& request, const fit::OpenTarget& open,
                                       int tries) {
    const auto& options = request.options;
    ASSIGN_OR_RETURN(auto how, locate_options(options));
    ASSIGN_OR_RETURN(auto checked, fit::locate_checked(open, how, tries, request.cancelled));
    ASSIGN_OR_RETURN(auto doubtful, doubts(request, checked, open, how));
    auto& vm = checked.vm;
    ASSIGN_OR_RETURN(auto choice, Choice::make(*vm, options));
    ASSIGN_OR_RETURN(auto writer, request.make_writer());
    return Session::begin(options, std::move(vm), doubtful, std::move(choice), std::move(writer),
                          request.listener, request.cancelled);
}

/// If a core lacks data that every dump needs, the reason may be that the file was truncated.
std::unexpected<Error> explained(const std::string& incomplete, const Error& error) {
    const bool said = incomplete.empty() || error.message.find(incomplete) != std::string::npos;
    return said ? std::unexpected(error) : wrap(incomplete, error);
}

Result<CaptureReport> capture_core(const Request& request) {
    auto target = target::CoreTarget::open(*request.options.core, request.options.executable);
    if (!target) {
        return std::unexpected(target.error());
    }
    const auto incomplete = (*target)->incomplete();
    const auto threads = (*target)->threads();
    const auto signal = (*target)->signal();
    const fit::OpenTarget open = [&]() -> Result<std::unique_ptr<target::Target>> {
        return *target
                   ? std::move(*target)
                   : target::CoreTarget::open(*request.options.core, request.options.executable);
    };
    auto session = begin(request, open, 1);
    if (!session) {
        return explained(incomplete, session.error());
    }
    (*session)->stopper().threads_stopped(threads);
    if (!incomplete.empty()) {
        (*session)->warn(incomplete);
    }
    if (auto done = (*session)->node_facts(records::MEMORY_SOURCE_CORE, Session::never); !done) {
        return explained(incomplete, done.error());
    }
    const bool crashed = signal && signal->ends_process() && !threads.empty();
    const auto told = crashed ? (*session)->crash({.signal = *signal, .threads = threads})
                              : (*session)->no_crash();
    if (!told) {
        return explained(incomplete, told.error());
    }
    if (auto copied = capture_at_rest(**session, LeftOver::kListed, nullptr); !copied) {
        return explained(incomplete, copied.error());
    }
    if (auto copied = (*session)->ets_rows(false, nullptr); !copied) {
        return explained(incomplete, copied.error());
    }
    auto report = (*session)->finish();
    if (report) {
        report->cut_off = !incomplete.empty();
    }
    return report;
}

/// The error of a capture during which the process may have ended.
std::unexpected<Error> ended_or(const target::Target& node, const Error& error) {
    return has_ended(node, error) ? fail(ErrorCode::kTargetDied,
                                         fmt::format("process {} exited during the capture; the "
                                                     "partial dump can be opened",
                                                     node.pid()))
                                  : std::unexpected(error);
}

/// Captures a process that the kernel holds as it dies: nothing moves.
Result<CaptureReport> capture_dying_node(const Request& request) {
    const auto pid = request.options.pid;
    const auto& crash = *request.options.crash;
    ASSIGN_OR_RETURN(auto session,
                     begin(request, [pid] { return target::LiveTarget::open(pid); }, 1));
    const auto sockets = target::socket_descriptors(pid, kMostSockets);
    session->stopper().threads_stopped(crash.threads);
    const auto captured = [&]() -> Result<void> {
        RETURN_IF_ERROR(session->node_facts(records::MEMORY_SOURCE_STOPPED, Session::never));
        RETURN_IF_ERROR(session->crash(crash));
        RETURN_IF_ERROR(capture_at_rest(*session, LeftOver::kListed, nullptr));
        RETURN_IF_ERROR(session->ets_rows(false, nullptr));
        return session->sockets(sockets);
    };
    if (auto done = captured(); !done) {
        return ended_or(session->vm().target(), done.error());
    }
    return session->finish();
}

Result<CaptureReport> capture_live_node(const Request& request) {
    const auto pid = request.options.pid;
    ASSIGN_OR_RETURN(
        auto session,
        begin(request, [pid] { return target::LiveTarget::open(pid); }, beam::kCheckTries));
    auto& node = dynamic_cast<target::LiveTarget&>(session->vm().target());
    const auto sockets = target::socket_descriptors(pid, kMostSockets);
    auto done = capture_by_mode(*session, node);
    if (done) {
        session->meanwhile(stopped(*session));
        done = session->sockets(sockets);
    }
    if (!done) {
        return ended_or(node, done.error());
    }
    return session->finish();
}

}  // namespace

Result<beam::LocateOptions> locate_options(const CaptureOptions& options) {
    auto how = nodes::locate_options(options.layout, options.no_symbols, options.debug_folder);
    if (how) {
        how->sizes = options.sizes;
    }
    return how;
}

Result<CaptureReport> capture_node(const CaptureOptions& options, const MakeWriter& make_writer,
                                   ProgressListener& listener, const std::atomic<bool>& cancelled) {
    const Request request{options, make_writer, listener, cancelled};
    try {
        return options.core    ? capture_core(request)
               : options.crash ? capture_dying_node(request)
                               : capture_live_node(request);
    } catch (const std::bad_alloc& failure) {
        return std::unexpected(error_of(failure));
    } catch (const std::system_error& failure) {
        return std::unexpected(error_of(failure));
    }
}

}  // namespace beamdump::capture
