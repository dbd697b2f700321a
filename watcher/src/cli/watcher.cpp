#include "cli/watcher.h"

#include "cli/own_resources.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/write_all.h>
#include <libvm/nodes/node_choice.h>
#include <libvm/nodes/running_nodes.h>
#include <libvm/nodes/vm_finder.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/process/proc_directory.h>
#include <program/start.h>

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <poll.h>
#include <span>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace beamdump::watch {
namespace {

using std::chrono::milliseconds;

/// A file of this name in the folder asks for a dump of each node.
constexpr auto kRequestFile = "take-dump";

/// How often signals, and children while there are any, are looked after.
constexpr milliseconds kLook{250};
constexpr milliseconds kChildLook{20};
constexpr milliseconds kNodeLook{1000};
/// How often it is looked whether nodes have started, beside those that are watched.
constexpr milliseconds kFinderLook{2000};
/// A node that has just started does not have all of its tables yet.
constexpr milliseconds kOpenAgain{2000};
/// One that cannot be read, and one that has another name, may be another one day.
constexpr milliseconds kFailedAgain{60'000};
constexpr milliseconds kOtherAgain{300'000};
constexpr int kCheapFailures = 2;

/// The time of the clock that goes on while the machine sleeps, and never back.
milliseconds now() {
    return milliseconds(target::clock_ns(CLOCK_BOOTTIME) / 1'000'000);
}

std::chrono::sys_seconds wall_clock() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// What a dump that no rule asks for goes by.
Rule named(std::string name) {
    Rule rule;
    rule.name = std::move(name);
    return rule;
}

/// Memory for the conversion of a crash dump; what does not fit goes to temporary files.
constexpr auto kConversionMemory = "256MiB";

/// What a dump may have beyond --max-size: each process is listed, and what the node is goes last
/// (docs/capture.md).
std::uint64_t bytes_of_lists(NodeReader& reader) {
    constexpr std::uint64_t kOfAProcess = 128;
    constexpr std::uint64_t kOfTheNode = std::uint64_t{1} << 20U;
    const auto read = reader.read({Quantity::kProcesses}).value_or(Measurements());
    const auto found = read.find(Quantity::kProcesses);
    const auto count = found == read.end() ? 0 : static_cast<std::uint64_t>(found->second.value);
    return kOfTheNode + kOfAProcess * count;
}

/// The recordings of one node: what the last runs of one that starts again and again have told
/// stays.
constexpr std::size_t kKeptRecordings = 3;

/// A file in memory from which a capture reads what was recorded; invalid: there is none.
Descriptor history_file(const Recording& recording) {
    Descriptor file(::memfd_create("history", MFD_CLOEXEC));
    const auto text = recording.history().SerializeAsString();
    return file.valid() && write_all(file.get(), std::as_bytes(std::span(text))).error_number == 0
               ? std::move(file)
               : Descriptor();
}

}  // namespace

Watcher::Watcher(Config config, beam::LocateOptions how, DumpStore store, EventLog& log,
                 std::atomic<bool>& asked, const std::atomic<bool>& cancelled)
    : config_(std::move(config)),
      how_(std::move(how)),
      store_(std::move(store)),
      log_(log),
      asked_(asked),
      cancelled_(cancelled),
      rules_(config_.rules) {
    for (const auto& rule : rules_) {
        if (rule.on != Rule::On::kReading) {
            continue;
        }
        wanted_.insert(rule.of);
        scans_ = scans_ || facts_of(rule.of).scans;
    }
    all_ = wanted_;
    all_.insert(recorded_quantities().begin(), recorded_quantities().end());
    rules_.push_back(named("crash_dump"));
    rules_.back().command = config_.crash_dumps.command;
    rules_.push_back(named("by_hand"));
    if (const auto own = target::process_facts(::getpid())) {
        started_ticks_ = own->start_ticks;
    }
}

void Watcher::say(const NodeId* node, std::string_view kind, const std::string& sentence,
                  Facts facts, const std::string& about) {
    if (node == nullptr) {
        log_.write(now(), {kind, sentence, std::move(facts)}, "", about);
        return;
    }
    if (!node->container.empty()) {
        facts.insert(facts.begin(), {"container", node->container});
    }
    facts.insert(facts.begin(), {{"node", node->name}, {"pid", std::to_string(node->pid)}});
    log_.write(now(), {kind, sentence, std::move(facts)}, node->key(), about);
}

void Watcher::say_of(const NodeId& node, std::size_t rule, std::string_view kind,
                     const std::string& sentence, Facts facts, const std::string& about) {
    const auto& name = rules_[rule].name;
    facts.insert(facts.begin(), {"rule", name});
    say(&node, kind,
        config_.several() ? fmt::format("{}: {}: {}", node.text(), name, sentence)
                          : fmt::format("{}: {}", name, sentence),
        std::move(facts), about.empty() ? name : about);
}

void Watcher::sleep_until(milliseconds time) {
    const auto look = capture_ || !commands_.empty() ? kChildLook : kLook;
    const auto end = std::min(time, now() + look);
    do {
        wait(std::max(end - now(), milliseconds(0)));
    } while (!cancelled_ && !asked_ && now() < end);
}

void Watcher::wait(milliseconds longest) {
    std::vector<pollfd> samples;
    for (const auto& [pid, node] : nodes_) {
        if (node.profile) {
            samples.push_back({.fd = node.profile->descriptor(), .events = POLLIN, .revents = 0});
        }
    }
    if (samples.empty()) {
        std::this_thread::sleep_for(longest);
        return;
    }
    if (::poll(samples.data(), samples.size(), static_cast<int>(longest.count())) <= 0) {
        return;
    }
    auto ready = samples.begin();
    for (auto& [pid, node] : nodes_) {
        if (node.profile && (ready++)->revents != 0) {
            take_samples(node);
        }
    }
}

milliseconds Watcher::next_reading() const {
    auto next = milliseconds::max();
    for (const auto& [pid, node] : nodes_) {
        next = std::min(next, node.next);
    }
    return next;
}

/// To infer a layout takes some 50 MiB and seconds of a processor: not again when a node of the
/// same release starts, or for its profile.
Result<NodeReader> Watcher::open_reader(pid_t pid) {
    auto reader = NodeReader::open(pid, how_, cancelled_);
    if (reader && reader->inferred()) {
        const auto& release = reader->inferred()->layout.release();
        std::erase_if(how_.inferred, [&](const beam::InferredLayout& before) {
            return before.layout.release() == release;
        });
        how_.inferred.push_back(*reader->inferred());
    }
    give_back_free_memory();
    return reader;
}

Result<NodeReader> Watcher::open_node() {
    const auto wanted = config_.nodes.empty() ? std::string() : config_.nodes.front();
    auto pid = nodes::pid_of(wanted);
    if (!pid) {
        ASSIGN_OR_RETURN(pid, nodes::find_node(wanted, how_));
    }
    return open_reader(*pid);
}

Result<NodeReader> Watcher::wait_for_node() {
    const bool by_pid = !config_.nodes.empty() && nodes::pid_of(config_.nodes.front());
    std::vector<pid_t> seen;
    bool told = false;
    auto next = now();
    for (auto again = milliseconds(0); !cancelled_; sleep_until(next)) {
        step();
        if (now() < next) {
            continue;
        }
        next = now() + kNodeLook;
        ASSIGN_OR_RETURN(auto vms, nodes::running_vms());
        // To ask a VM for its name takes a while: only where others run than before, or the last
        // look may have come too early.
        if (told && vms == seen && now() < again) {
            continue;
        }
        seen = std::move(vms);
        again = now() + kOpenAgain;
        auto node = open_node();
        if (node) {
            return node;
        }
        const auto code = node.error().code;
        const bool there = code != ErrorCode::kNotABeam && code != ErrorCode::kNotFound &&
                           code != ErrorCode::kTargetDied && code != ErrorCode::kImplausible;
        if (code == ErrorCode::kPermission || code == ErrorCode::kUnsupported ||
            code == ErrorCode::kNoLayout || (config_.nodes.empty() && code == ErrorCode::kUsage) ||
            (by_pid && code != ErrorCode::kImplausible)) {
            return std::unexpected(node.error());
        }
        if (!told || there) {
            // Of one that starts again and again it is counted with its other events.
            log_.write(
                now(),
                {"waiting", fmt::format("waiting for the node: {}", node.error().message), {}},
                last_ended_);
            told = true;
        }
    }
    return fail(ErrorCode::kIo, "cancelled");
}

Result<void> Watcher::watch_one() {
    while (!cancelled_) {
        auto node = wait_for_node();
        if (!node) {
            return cancelled_ ? Result<void>() : std::unexpected(node.error());
        }
        begin(std::move(*node));
        for (; !cancelled_ && !nodes_.empty(); sleep_until(next_reading())) {
            step();
        }
        if (!config_.nodes.empty() && nodes::pid_of(config_.nodes.front())) {
            break;
        }
    }
    return {};
}

Result<void> Watcher::watch_several() {
    const bool only_pids =
        !config_.all && std::ranges::all_of(config_.nodes, [](const std::string& wanted) {
            return nodes::pid_of(wanted).has_value();
        });
    RETURN_IF_ERROR(target::check_proc());
    nodes::VmFinder finder;
    bool told = false;
    auto next = now();
    for (; !cancelled_; sleep_until(std::min(next, next_reading()))) {
        step();
        if (now() < next) {
            continue;
        }
        const auto vms = finder.look();
        next = now() + (look_for_nodes(vms) ? milliseconds(0) : kFinderLook);
        const bool comes = std::ranges::any_of(
            vms, [&](pid_t pid) { return !only_pids || config_.means("", pid); });
        if (!nodes_.empty() || comes) {
            continue;
        }
        if (only_pids) {
            break;
        }
        if (!std::exchange(told, true)) {
            say(nullptr, "waiting", "waiting for nodes: no Erlang VM (beam.smp) runs here");
        }
    }
    return {};
}

bool Watcher::look_for_nodes(const std::vector<pid_t>& vms) {
    std::erase_if(candidates_, [&](const auto& candidate) {
        return std::ranges::find(vms, candidate.first) == vms.end();
    });
    for (const auto pid : vms) {
        if (nodes_.contains(pid)) {
            continue;
        }
        auto& candidate = candidates_[pid];
        if (now() >= candidate.again) {
            open_candidate(pid, candidate);
            return true;
        }
    }
    return false;
}

void Watcher::open_candidate(pid_t pid, Candidate& candidate) {
    auto reader = open_reader(pid);
    if (reader && config_.means(reader->id().name, pid)) {
        candidates_.erase(pid);
        begin(std::move(*reader));
        return;
    }
    if (reader && reader->id().name == nodes::kNoName) {
        // It gets its name while it starts, or later.
        candidate.again = now() + std::min(kOpenAgain * ++candidate.unnamed, kFailedAgain);
        return;
    }
    if (reader) {
        candidate.again = now() + kOtherAgain;
        return;
    }
    ++candidate.failed;
    // To find out that no layout fits takes seconds of a processor. Of a node that starts, one may
    // fit soon.
    const bool is_costly =
        reader.error().code == ErrorCode::kUnsupported && candidate.failed > kCheapFailures;
    candidate.again =
        now() + (is_costly ? kOtherAgain : std::min(kOpenAgain * candidate.failed, kFailedAgain));
    // A node that starts cannot be read at first.
    if (candidate.failed > 1 && reader.error().code != ErrorCode::kTargetDied && !cancelled_) {
        say(nullptr, "unwatched",
            fmt::format("process {} is not watched: {}", pid, reader.error().message),
            {{"pid", std::to_string(pid)}}, std::to_string(pid));
    }
}

Watcher::Watched& Watcher::add(NodeReader reader) {
    const auto pid = reader.id().pid;
    Watched node{.reader = std::move(reader), .rules = {}, .next = now(), .next_scan = now()};
    for (const auto& rule : rules_) {
        node.rules.emplace_back(rule);
    }
    return nodes_.insert_or_assign(pid, std::move(node)).first->second;
}

void Watcher::begin(NodeReader reader) {
    watch_for_crash_dump(reader);
    auto& node = add(std::move(reader));
    begin_recording(node);
    const auto& id = node.reader.id();
    Facts facts;
    if (node.recording) {
        facts.emplace_back("recording", node.recording->file().string());
    }
    say(&id, "watching",
        fmt::format("watching {} (process {}) with {}", id.text(), id.pid,
                    counted(config_.rules.size(), "rule")),
        std::move(facts));
    // One that ran before this program did does not start now.
    if (node.reader.start_ticks() > started_ticks_) {
        for (const auto at : rules_on(Rule::On::kStart)) {
            node.asked.emplace(at, "the node started");
        }
    }
    begin_profile(node);
}

std::vector<std::size_t> Watcher::rules_on(Rule::On event) const {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < config_.rules.size(); ++at) {
        if (rules_[at].on == event) {
            found.push_back(at);
        }
    }
    return found;
}

bool Watcher::is_asked() {
    std::error_code error;
    const bool by_file = std::filesystem::remove(config_.folder / kRequestFile, error);
    if (error && !request_refused_) {
        say(nullptr, "failed",
            fmt::format("cannot remove {}, so that no dump is taken for it: {}",
                        (config_.folder / kRequestFile).string(), error.message()));
    }
    request_refused_ = static_cast<bool>(error);
    return asked_.exchange(false) || by_file;
}

Result<void> Watcher::run() {
    auto outcome = watch_nodes();
    log_.finish(now());
    return outcome;
}

Result<void> Watcher::watch_nodes() {
    const auto outcome = config_.several() ? watch_several() : watch_one();
    for (auto& [pid, node] : nodes_) {
        end_recording(node, false);
    }
    RETURN_IF_ERROR(outcome);
    // A node that has ended may have written its crash dump last.
    look_after_crash_dumps();
    while (!cancelled_ && (capture_ || !commands_.empty())) {
        look_after_children();
        look_after_crash_dumps();
        sleep_until(now() + kLook);
    }
    return {};
}

void Watcher::step() {
    log_.look(now());
    look_after_children();
    look_after_crash_dumps();
    if (is_asked()) {
        if (nodes_.empty()) {
            say(nullptr, "refused", "no dump was taken by hand: no node is watched now");
        }
        for (auto& [pid, node] : nodes_) {
            node.asked.emplace(rules_.size() - 1, "asked for by hand");
        }
    }
    for (auto at = nodes_.begin(); at != nodes_.end() && !cancelled_;) {
        if (step(at->second)) {
            ++at;
            continue;
        }
        const auto id = at->second.reader.id();
        end_recording(at->second, true);
        say(&id, "ended", fmt::format("{} (process {}) has ended", id.text(), id.pid));
        last_ended_ = id.key();
        for (const auto rule : rules_on(Rule::On::kEnd)) {
            act(at->second, rule, "the node ended");
        }
        at = nodes_.erase(at);
    }
}

void Watcher::begin_recording(Watched& node) {
    if (config_.record.count() == 0) {
        return;
    }
    const auto& id = node.reader.id();
    records::Capture capture;
    records::Node facts;
    if (const auto described = node.reader.describe(capture, facts); !described) {
        tell_unrecorded(id, described);
        return;
    }
    remove_recordings(config_.folder, id.key(), kKeptRecordings - 1);
    node.recording.emplace(config_.folder / recording_name(id.key(), wall_clock()),
                           recording_limits(), std::move(capture), std::move(facts));
    node.next_record = node.scanned_at = now();
}

void Watcher::begin_profile(Watched& node) {
    if (config_.record_profile == 0 || !node.recording) {
        return;
    }
    auto opened = sampler::RollingProfile::open(node.reader.id().pid, how_, config_.record_profile,
                                                cancelled_);
    if (opened) {
        node.profile.emplace(std::move(*opened));
        node.next_profile = now() + recording_limits().profile_time();
    } else if (!cancelled_) {
        tell_unprofiled(node, opened.error());
    }
}

void Watcher::tell_unprofiled(Watched& node, const Error& why) {
    const auto& id = node.reader.id();
    const bool stays = why.code == ErrorCode::kPermission || why.code == ErrorCode::kUnsupported ||
                       why.code == ErrorCode::kTargetDied;
    node.next_profile = stays ? milliseconds::max() : now() + kFailedAgain;
    if (why.code != ErrorCode::kTargetDied) {
        say(&id, "unprofiled",
            fmt::format("the recording of {} goes on without a profile: {}", id.text(),
                        why.message),
            {{"why", why.message}});
    }
}

void Watcher::take_samples(Watched& node) {
    if (const auto taken = node.profile->take(); !taken) {
        record_profile(node);
        node.profile.reset();
        tell_unprofiled(node, taken.error());
    }
}

void Watcher::record_profile(Watched& node) {
    const auto samples = node.profile->next(RecordingLimits::kMostProfileBytes);
    tell_unrecorded(node.reader.id(), node.recording->add(now(), samples, atoms_of(node)));
    node.next_profile = now() + recording_limits().profile_time();
}

Recording::AtomText Watcher::atoms_of(Watched& node) {
    return [&node](std::uint32_t atom) {
        return node.profile ? node.profile->atom_name(atom) : node.reader.atom(atom);
    };
}

void Watcher::tell_unrecorded(const NodeId& node, const Result<void>& outcome) {
    if (!outcome) {
        say(&node, "unrecorded",
            fmt::format("readings of {} are not in a file: {}", node.text(),
                        outcome.error().message),
            {{"why", outcome.error().message}});
    }
}

Result<void> Watcher::record(Watched& node, const Measurements& measured) {
    const auto limits = recording_limits();
    const auto processes = measured.find(Quantity::kProcesses);
    const auto scan_time = limits.scan_time(
        processes == measured.end() ? 0 : static_cast<std::uint64_t>(processes->second.value));
    // What is read now of the processes is what a reading of all in that time has come to.
    const auto passed = std::exchange(node.scanned_at, now());
    const auto part = static_cast<double>((node.scanned_at - passed).count()) /
                      static_cast<double>(scan_time.count());
    ASSIGN_OR_RETURN(auto scan, node.reader.scan_on(part, cancelled_));
    auto reading = reading_of(measured);
    reading.set_at_us(target::clock_ns(CLOCK_REALTIME) / 1000);
    if (const auto kills = node.reader.oom_kills()) {
        reading.set_oom_kills(*kills);
    }
    if (const auto processor = node.reader.processor_ms()) {
        reading.set_processor_ms(*processor);
    }
    if (scan) {
        *reading.mutable_scan() = std::move(*scan);
    }
    tell_unrecorded(node.reader.id(), node.recording->add(now(), reading, atoms_of(node)));
    node.next_record = std::max(node.next_record + limits.between_readings(), now());
    if (node.profile) {
        // New threads are looked for too.
        take_samples(node);
    }
    if (now() >= node.next_profile) {
        node.profile ? record_profile(node) : begin_profile(node);
    }
    return {};
}

void Watcher::end_recording(Watched& node, bool node_ended) {
    if (!node.recording) {
        return;
    }
    if (node.profile) {
        record_profile(node);
    }
    records::History last;
    const auto time = target::clock_ns(CLOCK_REALTIME) / 1000;
    if (node_ended) {
        last.set_node_ended_us(time);
    } else {
        last.set_watcher_ended_us(time);
    }
    if (const auto kills = node.reader.oom_kills()) {
        last.set_oom_kills_at_end(*kills);
    }
    tell_unrecorded(node.reader.id(), node.recording->finish(last));
    node.recording.reset();
}

Result<Measurements> Watcher::read(Watched& node) {
    const bool recorded = node.recording && now() >= node.next_record;
    ASSIGN_OR_RETURN(auto read, node.reader.read(recorded ? all_ : wanted_));
    if (recorded) {
        RETURN_IF_ERROR(record(node, read));
    }
    if (scans_ && now() >= node.next_scan) {
        auto found = node.reader.scan(cancelled_);
        node.next_scan = now() + config_.scan_interval;
        node.scanned = found.value_or(Measurements());
        if (!found && !cancelled_) {
            return std::unexpected(found.error());
        }
    }
    read.insert(node.scanned.begin(), node.scanned.end());
    return read;
}

bool Watcher::step(Watched& node) {
    if (!node.asked.empty() && !capture_) {
        const auto next = node.asked.extract(node.asked.begin());
        act(node, next.key(), next.mapped());
    }
    if (now() < node.next) {
        return true;
    }
    const auto found = read(node);
    node.next += config_.interval;
    if (node.next < now()) {
        node.next = now() + config_.interval;
    }
    if (!found) {
        if (found.error().code == ErrorCode::kTargetDied) {
            return false;
        }
        // What changes while it is read is read again.
        say(&node.reader.id(), "unreadable", found.error().message);
        return true;
    }
    for (std::size_t at = 0; at < config_.rules.size(); ++at) {
        if (const auto reason = node.rules[at].feed(now(), *found)) {
            act(node, at, *reason);
        }
    }
    return true;
}

void Watcher::act(Watched& node, std::size_t rule, const std::string& reason) {
    if (!rules_[rule].dump) {
        say_of(node.reader.id(), rule, "fired", reason, {{"reason", reason}});
        run_command(node.reader.id(), rule, "", reason);
        return;
    }
    if (capture_) {
        // It may act when that one is done.
        node.rules[rule].retry();
        return;
    }
    start_capture(node, rule, reason);
}

void Watcher::start_capture(Watched& node, std::size_t rule, const std::string& reason) {
    const auto& what = rules_[rule];
    const auto& id = node.reader.id();
    const auto room =
        store_.admit(id.key(), what.name, now(), wall_clock(), bytes_of_lists(node.reader));
    tell_removed();
    if (!room) {
        say_of(id, rule, "refused", fmt::format("{}; no dump: {}", reason, room.error().message),
               {{"reason", reason}, {"why", room.error().message}});
        node.rules[rule].retry();
        return;
    }
    std::vector<std::string> command{sibling("beamdump-capture").string(),
                                     "-o",
                                     room->path.string(),
                                     "--no-cache",
                                     "--max-size",
                                     std::to_string(room->most_bytes),
                                     "--reason",
                                     fmt::format("{}: {}", what.name, reason)};
    command.insert(command.end(), config_.capture.begin(), config_.capture.end());
    command.insert(command.end(), what.capture.begin(), what.capture.end());
    if (node.profile) {
        record_profile(node);
    }
    const auto history = node.recording ? history_file(*node.recording) : Descriptor();
    if (history.valid()) {
        command.insert(command.end(), {"--history", "/proc/self/fd/0"});
    }
    command.push_back(std::to_string(id.pid));
    start(id, id.key(), rule, reason, command, room->path, history);
}

void Watcher::start(const NodeId& node, const std::string& key, std::size_t rule,
                    const std::string& reason, const std::vector<std::string>& command,
                    const std::filesystem::path& file, const Descriptor& input) {
    auto child = Child::start(command, {}, input);
    if (!child) {
        store_.withdraw(key);
        say_of(node, rule, "failed", fmt::format("{}; no dump: {}", reason, child.error().message),
               {{"reason", reason}, {"why", child.error().message}});
        return;
    }
    say_of(node, rule, "fired", fmt::format("{}; taking a dump", reason), {{"reason", reason}});
    capture_.emplace(std::move(*child), node, key, rule, file, reason, now());
}

void Watcher::watch_for_crash_dump(const NodeReader& reader) {
    const auto& id = reader.id();
    const auto environment = reader.environment();
    if (config_.crash_dumps.take == CrashDumps::Take::kIgnore || !environment) {
        return;
    }
    auto folder = CrashFolder::open(id.pid, crash_dump_of(*environment));
    if (!folder) {
        say(&id, "unwatched", folder.error().message, {}, "crash_dump");
        return;
    }
    // One that was written and could not be converted yet is not forgotten when the node comes
    // again.
    const auto known = crashes_.find(id.key());
    const bool written = known != crashes_.end() && known->second.folder.same_as(*folder) &&
                         (known->second.written || known->second.folder.written());
    crashes_.insert_or_assign(id.key(), Crash{std::move(*folder), id, written});
}

void Watcher::look_after_crash_dumps() {
    for (auto& [key, crash] : crashes_) {
        crash.written = crash.folder.written() || crash.written;
        if (crash.written && !capture_) {
            crash.written = false;
            convert(crash);
        }
    }
}

void Watcher::convert(Crash& crash) {
    const auto rule = rules_.size() - 2;
    const auto reason =
        fmt::format("{} wrote its crash dump {}", crash.node.text(), crash.folder.name());
    const auto bytes = crash.folder.bytes();
    if (!bytes) {
        return;
    }
    // Dumps that rules took shall not keep it from being taken, nor the other way round.
    const auto key = crash.node.key() + "_crash";
    const auto refuse = [&](const std::string& why) {
        say_of(crash.node, rule, "refused", fmt::format("{}; no dump: {}", reason, why),
               {{"reason", reason}, {"why", why}});
    };
    const auto room = store_.admit(key, rules_[rule].name, now(), wall_clock());
    tell_removed();
    if (!room) {
        refuse(room.error().message);
        return;
    }
    if (*bytes > room->most_bytes) {
        store_.withdraw(key);
        refuse(fmt::format("it has {}, and a dump may take {}", bytes_text(*bytes),
                           bytes_text(room->most_bytes)));
        return;
    }
    const bool redacted = config_.crash_dumps.take == CrashDumps::Take::kRedact;
    std::vector<std::string> command{sibling("beamdump-analyze").string(),
                                     redacted ? "redact" : "convert",
                                     crash.folder.path().string(),
                                     "-o",
                                     room->path.string(),
                                     "--max-memory",
                                     kConversionMemory,
                                     "--no-cache"};
    if (redacted) {
        command.insert(command.end(), {"--policy", config_.crash_dumps.policy});
    }
    start(crash.node, key, rule, reason, command, room->path);
}

void Watcher::look_after_children() {
    if (capture_) {
        if (const auto status = capture_->child.ended()) {
            if (!std::filesystem::exists(capture_->file)) {
                store_.withdraw(capture_->key);
            }
            end_capture(*status);
        }
    }
    std::erase_if(commands_, [this](Child& command) {
        const auto status = command.ended();
        if (status && *status != 0) {
            say(nullptr, "command_failed",
                fmt::format("a rule's command ended with status {}", *status));
        }
        return status.has_value();
    });
}

void Watcher::end_capture(int status) {
    const auto done = std::move(*capture_);
    capture_.reset();
    std::error_code error;
    const auto bytes = std::filesystem::file_size(done.file, error);
    if (error) {
        say_of(done.node, done.rule, "failed",
               fmt::format("the capture ended with status {} and left no dump", status),
               {{"status", std::to_string(status)}});
        return;
    }
    const auto seconds = std::chrono::duration<double>(now() - done.begun).count();
    say_of(done.node, done.rule, "captured",
           fmt::format("{} written to {} in {:.1f} s{}", bytes_text(bytes), done.file.string(),
                       seconds, status == program::kIncomplete ? ", incomplete" : ""),
           {{"reason", done.reason},
            {"file", done.file.string()},
            {"bytes", std::to_string(bytes)},
            {"status", std::to_string(status)}},
           done.file.string());
    if (const auto pruned = store_.prune(); !pruned) {
        say(nullptr, "unpruned", pruned.error().message);
    }
    tell_removed();
    if (done.key != done.node.key() && status == program::kDone) {
        remove_original(done.node);
    }
    run_command(done.node, done.rule, done.file.string(), done.reason);
}

void Watcher::remove_original(const NodeId& node) {
    const auto found = crashes_.find(node.key());
    if (!config_.crash_dumps.remove || found == crashes_.end()) {
        return;
    }
    auto& crash = found->second;
    // One that was written meanwhile is another.
    crash.written = crash.folder.written() || crash.written;
    if (crash.written) {
        return;
    }
    if (const auto removed = crash.folder.remove(); !removed) {
        say(&node, "failed", removed.error().message);
    }
}

void Watcher::tell_removed() {
    for (const auto& file : store_.removed()) {
        say(nullptr, "removed", fmt::format("removed {}, to keep the limits", file.string()),
            {{"file", file.string()}}, file.string());
    }
}

void Watcher::run_command(const NodeId& node, std::size_t rule, const std::string& file,
                          const std::string& reason) {
    const auto& what = rules_[rule];
    if (!what.command) {
        return;
    }
    auto child = Child::start({"/bin/sh", "-c", *what.command},
                              {{"BEAMDUMP_FILE", file},
                               {"BEAMDUMP_REASON", reason},
                               {"BEAMDUMP_RULE", what.name},
                               {"BEAMDUMP_NODE", node.name},
                               {"BEAMDUMP_CONTAINER", node.container},
                               {"BEAMDUMP_PID", std::to_string(node.pid)}});
    if (child) {
        commands_.push_back(std::move(*child));
    } else {
        say(&node, "command_failed", child.error().message);
    }
}

Result<std::vector<std::string>> Watcher::check() {
    std::vector<std::string> lines;
    if (config_.several()) {
        ASSIGN_OR_RETURN(const auto vms, nodes::running_vms());
        for (const auto pid : vms) {
            auto reader = open_reader(pid);
            if (!reader) {
                lines.push_back(
                    fmt::format("process {} cannot be read: {}", pid, reader.error().message));
            } else if (config_.means(reader->id().name, pid)) {
                add(std::move(*reader));
            }
        }
    } else {
        ASSIGN_OR_RETURN(auto reader, open_node());
        add(std::move(reader));
    }
    for (auto& [pid, node] : nodes_) {
        ASSIGN_OR_RETURN(auto read, node.reader.read(wanted_));
        ASSIGN_OR_RETURN(const auto scanned, node.reader.scan(cancelled_));
        read.insert(scanned.begin(), scanned.end());
        lines.push_back(fmt::format("{} (process {})", node.reader.id().text(), pid));
        for (std::size_t at = 0; at < config_.rules.size(); ++at) {
            lines.push_back(fmt::format("{}: {}", rules_[at].name, node.rules[at].seen(read)));
        }
    }
    return lines;
}

}  // namespace beamdump::watch
