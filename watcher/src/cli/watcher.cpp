#include "cli/watcher.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libvm/nodes/node_choice.h>
#include <libvm/target/process/clock.h>
#include <program/start.h>

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <thread>

namespace beamdump::watch {
namespace {

using std::chrono::milliseconds;

/// How often signals, and children while there are any, are looked after.
constexpr milliseconds kLook{250};
constexpr milliseconds kChildLook{20};
constexpr milliseconds kNodeLook{1000};
/// A node that has just started does not have all of its tables yet.
constexpr milliseconds kOpenAgain{2000};

/// Of the clock that goes on while the machine sleeps, and never back.
milliseconds now() {
    return milliseconds(target::clock_ns(CLOCK_BOOTTIME) / 1'000'000);
}

std::chrono::sys_seconds wall_clock() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// The rule of a dump that a signal asks for.
Rule by_hand() {
    Rule rule;
    rule.name = "by_hand";
    return rule;
}

}  // namespace

Watcher::Watcher(Config config, beam::LocateOptions how, DumpStore store, EventLog& log,
                 std::atomic<bool>& asked, const std::atomic<bool>& cancelled)
    : config_(std::move(config)),
      how_(std::move(how)),
      store_(std::move(store)),
      log_(log),
      asked_(asked),
      cancelled_(cancelled) {
    for (const auto& rule : config_.rules) {
        rules_.emplace_back(rule);
    }
    rules_.emplace_back(by_hand());
}

void Watcher::say(std::string_view kind, std::string sentence,
                  std::vector<std::pair<std::string_view, std::string>> facts,
                  const std::string& about) {
    if (!node_.empty()) {
        facts.insert(facts.begin(), {{"node", node_}, {"pid", std::to_string(pid_)}});
    }
    log_.write(now(), {kind, std::move(sentence), std::move(facts)}, about);
}

void Watcher::sleep(milliseconds time) const {
    const auto look = capture_ || !commands_.empty() ? kChildLook : kLook;
    const auto end = now() + std::min(time, look);
    for (auto left = end - now(); !cancelled_ && !asked_ && left.count() > 0; left = end - now()) {
        std::this_thread::sleep_for(left);
    }
}

std::set<Quantity> Watcher::wanted() const {
    std::set<Quantity> wanted;
    for (const auto& rule : config_.rules) {
        wanted.insert(rule.of);
    }
    return wanted;
}

Result<NodeReader> Watcher::open_node() {
    auto pid = nodes::pid_of(config_.node);
    if (!pid) {
        ASSIGN_OR_RETURN(pid, nodes::find_node(config_.node, how_));
    }
    return NodeReader::open(*pid, how_, cancelled_);
}

Result<NodeReader> Watcher::wait_for_node() {
    std::vector<pid_t> seen;
    bool told = false;
    auto next = now();
    for (auto again = milliseconds(0); !cancelled_; sleep(kNodeLook)) {
        look_after_children(node_);
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
            code == ErrorCode::kNoLayout || (config_.node.empty() && code == ErrorCode::kUsage) ||
            (nodes::pid_of(config_.node) && code != ErrorCode::kImplausible)) {
            return std::unexpected(node.error());
        }
        if (!told || there) {
            say("waiting", fmt::format("waiting for the node: {}", node.error().message));
            told = true;
        }
    }
    return fail(ErrorCode::kIo, "cancelled");
}

Result<void> Watcher::run() {
    while (!cancelled_) {
        auto node = wait_for_node();
        if (!node) {
            return cancelled_ ? Result<void>() : std::unexpected(node.error());
        }
        node_ = node->name();
        pid_ = node->pid();
        for (auto& rule : rules_) {
            rule.restart();
        }
        say("watching", fmt::format("watching {} (process {}) with {}", node_, pid_,
                                    counted(config_.rules.size(), "rule")));
        RETURN_IF_ERROR(watch(*node));
        if (!cancelled_) {
            say("ended", fmt::format("{} (process {}) has ended", node_, pid_));
            if (nodes::pid_of(config_.node)) {
                break;
            }
        }
    }
    while (!cancelled_ && (capture_ || !commands_.empty())) {
        look_after_children(node_);
        sleep(kLook);
    }
    return {};
}

Result<void> Watcher::watch(NodeReader& node) {
    const bool scans = std::ranges::any_of(
        config_.rules, [](const Rule& rule) { return facts_of(rule.of).scans; });
    auto next = now();
    auto next_scan = next;
    Measurements scanned;
    for (; !cancelled_; sleep(std::max(milliseconds(0), next - now()))) {
        look_after_children(node.name());
        if (asked_.exchange(false)) {
            act(node, rules_.size() - 1, "asked for by a signal");
        }
        if (now() < next) {
            continue;
        }
        auto read = node.read(wanted());
        if (read && scans && now() >= next_scan) {
            auto found = node.scan(cancelled_);
            if (!found && !cancelled_) {
                read = std::unexpected(found.error());
            }
            scanned = found.value_or(Measurements());
            next_scan = now() + config_.scan_interval;
        }
        if (!read) {
            if (read.error().code == ErrorCode::kTargetDied) {
                return {};
            }
            // What changes while it is read is read again.
            say("unreadable", read.error().message);
            next = now() + config_.interval;
            continue;
        }
        read->insert(scanned.begin(), scanned.end());
        for (std::size_t at = 0; at + 1 < rules_.size(); ++at) {
            if (const auto reason = rules_[at].feed(now(), *read)) {
                act(node, at, *reason);
            }
        }
        next += config_.interval;
        if (next < now()) {
            next = now() + config_.interval;
        }
    }
    return {};
}

void Watcher::act(NodeReader& node, std::size_t rule, const std::string& reason) {
    const auto& what = rules_[rule].rule();
    if (!what.dump) {
        say("fired", fmt::format("{}: {}", what.name, reason),
            {{"rule", what.name}, {"reason", reason}}, what.name);
        run_command(rule, "", reason);
        return;
    }
    if (capture_) {
        // It may act when that one is done.
        rules_[rule].retry();
        return;
    }
    start_capture(node, rule, reason);
}

void Watcher::start_capture(NodeReader& node, std::size_t rule, const std::string& reason) {
    const auto& what = rules_[rule].rule();
    const auto begun = now();
    const auto room = store_.admit(node.name(), what.name, begun, wall_clock());
    tell_removed();
    if (!room) {
        say("refused", fmt::format("{}: {}; no dump: {}", what.name, reason, room.error().message),
            {{"rule", what.name}, {"reason", reason}, {"why", room.error().message}}, what.name);
        rules_[rule].retry();
        return;
    }
    std::vector<std::string> command{sibling("beamdump-capture").string(),
                                     "-o",
                                     room->path.string(),
                                     "--max-size",
                                     std::to_string(room->most_bytes),
                                     "--reason",
                                     fmt::format("{}: {}", what.name, reason)};
    command.insert(command.end(), config_.capture.begin(), config_.capture.end());
    command.insert(command.end(), what.capture.begin(), what.capture.end());
    command.push_back(std::to_string(node.pid()));
    auto child = Child::start(command, {});
    if (!child) {
        store_.withdraw(node.name());
        say("failed", fmt::format("{}: {}; no dump: {}", what.name, reason, child.error().message),
            {{"rule", what.name}, {"reason", reason}, {"why", child.error().message}}, what.name);
        return;
    }
    say("fired", fmt::format("{}: {}; taking a dump", what.name, reason),
        {{"rule", what.name}, {"reason", reason}}, what.name);
    capture_.emplace(std::move(*child), rule, room->path, reason, begun);
}

void Watcher::look_after_children(const std::string& node) {
    if (capture_) {
        if (const auto status = capture_->child.ended()) {
            if (!std::filesystem::exists(capture_->file)) {
                store_.withdraw(node);
            }
            end_capture(*status);
        }
    }
    std::erase_if(commands_, [this](Child& command) {
        const auto status = command.ended();
        if (status && *status != 0) {
            say("command_failed", fmt::format("a rule's command ended with status {}", *status));
        }
        return status.has_value();
    });
}

void Watcher::end_capture(int status) {
    const auto done = std::move(*capture_);
    capture_.reset();
    const auto& name = rules_[done.rule].rule().name;
    std::error_code error;
    const auto bytes = std::filesystem::file_size(done.file, error);
    if (error) {
        say("failed",
            fmt::format("{}: the capture ended with status {} and left no dump", name, status),
            {{"rule", name}, {"status", std::to_string(status)}}, name);
        return;
    }
    const auto seconds = std::chrono::duration<double>(now() - done.begun).count();
    say("captured",
        fmt::format("{}: {} written to {} in {:.1f} s{}", name, bytes_text(bytes),
                    done.file.string(), seconds,
                    status == program::kIncomplete ? ", incomplete" : ""),
        {{"rule", name},
         {"reason", done.reason},
         {"file", done.file.string()},
         {"bytes", std::to_string(bytes)},
         {"status", std::to_string(status)}},
        done.file.string());
    if (const auto pruned = store_.prune(); !pruned) {
        say("unpruned", pruned.error().message);
    }
    tell_removed();
    run_command(done.rule, done.file.string(), done.reason);
}

void Watcher::tell_removed() {
    for (const auto& file : store_.removed()) {
        say("removed", fmt::format("removed {}, to keep the limits", file.string()),
            {{"file", file.string()}}, file.string());
    }
}

void Watcher::run_command(std::size_t rule, const std::string& file, const std::string& reason) {
    const auto& what = rules_[rule].rule();
    if (!what.command) {
        return;
    }
    auto child =
        Child::start({"/bin/sh", "-c", *what.command}, {{"BEAMDUMP_FILE", file},
                                                        {"BEAMDUMP_REASON", reason},
                                                        {"BEAMDUMP_RULE", what.name},
                                                        {"BEAMDUMP_NODE", node_},
                                                        {"BEAMDUMP_PID", std::to_string(pid_)}});
    if (child) {
        commands_.push_back(std::move(*child));
    } else {
        say("command_failed", child.error().message);
    }
}

Result<std::vector<std::string>> Watcher::check() {
    ASSIGN_OR_RETURN(auto node, open_node());
    ASSIGN_OR_RETURN(auto read, node.read(wanted()));
    ASSIGN_OR_RETURN(const auto scanned, node.scan(cancelled_));
    read.insert(scanned.begin(), scanned.end());
    std::vector<std::string> lines{fmt::format("{} (process {})", node.name(), node.pid())};
    for (std::size_t at = 0; at + 1 < rules_.size(); ++at) {
        const auto& rule = rules_[at].rule();
        lines.push_back(fmt::format("{}: {} is {}", rule.name, facts_of(rule.of).subject,
                                    rules_[at].seen(read)));
    }
    return lines;
}

}  // namespace beamdump::watch
