#pragma once

#include "cli/event_log.h"
#include "dumps/child.h"
#include "dumps/dump_store.h"
#include "readings/node_reader.h"
#include "rules/config.h"

#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace beamdump::watch {

/// Watches one node: reads it, asks the rules, takes dumps within the limits. Goes on when the node
/// ends, until one of that name runs again.
class Watcher {
  public:
    /// `asked`: set by a signal: a dump is wanted now.
    Watcher(Config config, beam::LocateOptions how, DumpStore store, EventLog& log,
            std::atomic<bool>& asked, const std::atomic<bool>& cancelled);

    /// Until it is cancelled, or the node ends and was named by its process id.
    Result<void> run();

    /// What each rule sees now, a line each; takes no dump.
    Result<std::vector<std::string>> check();

  private:
    /// A dump under way.
    struct Capture {
        Child child;
        std::size_t rule = 0;
        std::filesystem::path file;
        std::string reason;
        std::chrono::milliseconds begun{};
    };

    [[nodiscard]] std::set<Quantity> wanted() const;
    Result<NodeReader> open_node();
    Result<NodeReader> wait_for_node();
    /// Until the node ends.
    Result<void> watch(NodeReader& node);
    void act(NodeReader& node, std::size_t rule, const std::string& reason);
    void start_capture(NodeReader& node, std::size_t rule, const std::string& reason);
    void look_after_children(const std::string& node);
    void end_capture(int status);
    void run_command(std::size_t rule, const std::string& file, const std::string& reason);
    void tell_removed();
    void say(std::string_view kind, std::string sentence,
             std::vector<std::pair<std::string_view, std::string>> facts = {},
             const std::string& about = "");
    void sleep(std::chrono::milliseconds time) const;

    Config config_;
    beam::LocateOptions how_;
    DumpStore store_;
    EventLog& log_;
    std::atomic<bool>& asked_;
    const std::atomic<bool>& cancelled_;
    std::vector<RuleState> rules_;  // the last one: by a signal
    std::optional<Capture> capture_;
    std::vector<Child> commands_;
    std::string node_;  // its name, once known
    pid_t pid_ = 0;
};

}  // namespace beamdump::watch
