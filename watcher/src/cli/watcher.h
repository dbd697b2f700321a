#pragma once

#include "cli/event_log.h"
#include "dumps/child.h"
#include "dumps/crash_folder.h"
#include "dumps/dump_store.h"
#include "readings/node_reader.h"
#include "record/recording.h"
#include "rules/config.h"

#include <libsample/profile/rolling_profile.h>

#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace beamdump::watch {

/// Watches nodes: reads them, asks the rules, takes dumps within the limits. Goes on when a node
/// ends, until one of that name runs again.
class Watcher {
  public:
    /// `asked`: set by a signal: a dump of each node is wanted now.
    Watcher(Config config, beam::LocateOptions how, DumpStore store, EventLog& log,
            std::atomic<bool>& asked, const std::atomic<bool>& cancelled);

    /// Until it is cancelled, or the nodes end and were named by their process ids.
    Result<void> run();

    /// What each rule sees now, a line each; takes no dump.
    Result<std::vector<std::string>> check();

  private:
    /// A node, with what its rules have seen.
    struct Watched {
        NodeReader reader;
        std::vector<RuleState> rules;  // as rules_
        std::chrono::milliseconds next{}, next_scan{};
        Measurements scanned{};
        std::map<std::size_t, std::string> asked{};  // rules that act once, with their reasons
        std::optional<Recording> recording{};
        std::chrono::milliseconds next_record{}, scanned_at{};
        std::optional<sampler::RollingProfile> profile{};
        /// When that is added to the recording, or opened again.
        std::chrono::milliseconds next_profile{std::chrono::milliseconds::max()};
    };
    /// A process that runs a VM and is not watched, or not yet.
    struct Candidate {
        std::chrono::milliseconds again{};  // when it is looked at again
        int failed = 0;
        int unnamed = 0;
    };
    /// Where a node writes its crash dump; it outlives the node.
    struct Crash {
        CrashFolder folder;
        NodeId node;
        bool written = false;  // and not converted yet
    };
    /// A dump under way.
    struct Capture {
        Child child;
        NodeId node;
        std::string key;  // of its limits
        std::size_t rule = 0;
        std::filesystem::path file;
        std::string reason;
        std::chrono::milliseconds begun{};
    };
    using Facts = std::vector<std::pair<std::string_view, std::string>>;

    /// As run(), but for what the log counts.
    Result<void> watch_nodes();
    Result<NodeReader> open_reader(pid_t pid);
    Result<NodeReader> open_node();
    Result<NodeReader> wait_for_node();
    Result<void> watch_one();
    Result<void> watch_several();
    /// Opens at most one node that is not watched yet; whether there was one.
    bool look_for_nodes(const std::vector<pid_t>& vms);
    void open_candidate(pid_t pid, Candidate& candidate);
    Watched& add(NodeReader reader);
    void begin(NodeReader reader);
    /// Reads the nodes that are due; those that have ended go.
    void step();
    /// False: it has ended.
    bool step(Watched& node);
    Result<Measurements> read(Watched& node);
    [[nodiscard]] RecordingLimits recording_limits() const {
        return {config_.record, config_.scan_interval};
    }
    /// Begins the recording of a node.
    void begin_recording(Watched& node);
    /// Adds what was read to it.
    Result<void> record(Watched& node, const Measurements& measured);
    /// Completes it: the node has ended, or this program ends.
    void end_recording(Watched& node, bool node_ended);
    void tell_unrecorded(const NodeId& node, const Result<void>& outcome);
    /// Begins the profile of a node, if it is to have one.
    void begin_profile(Watched& node);
    /// Takes the samples that wait. When there are no more, what came is added to the recording.
    void take_samples(Watched& node);
    /// Adds the profile so far to the recording, and begins the next one.
    void record_profile(Watched& node);
    void tell_unprofiled(Watched& node, const Error& why);
    [[nodiscard]] static Recording::AtomText atoms_of(Watched& node);
    void act(Watched& node, std::size_t rule, const std::string& reason);
    /// The rules about that.
    [[nodiscard]] std::vector<std::size_t> rules_on(Rule::On event) const;
    /// Whether somebody asks for dumps: by a signal, or by a file, which is removed.
    bool is_asked();
    void start_capture(Watched& node, std::size_t rule, const std::string& reason);
    void look_after_children();
    void watch_for_crash_dump(const NodeReader& reader);
    /// Converts those that were written, one at a time.
    void look_after_crash_dumps();
    void convert(Crash& crash);
    /// Removes the crash dump that was converted, if that is asked for.
    void remove_original(const NodeId& node);
    /// Starts what makes the dump.
    void start(const NodeId& node, const std::string& key, std::size_t rule,
               const std::string& reason, const std::vector<std::string>& command,
               const std::filesystem::path& file, const Descriptor& input = {});
    void end_capture(int status);
    void run_command(const NodeId& node, std::size_t rule, const std::string& file,
                     const std::string& reason);
    void tell_removed();
    void say(const NodeId* node, std::string_view kind, const std::string& sentence,
             Facts facts = {}, const std::string& about = "");
    /// Says a sentence about a rule, after its name. `about`: the rule's name where it is empty.
    void say_of(const NodeId& node, std::size_t rule, std::string_view kind,
                const std::string& sentence, Facts facts, const std::string& about = "");
    /// Until the next reading or look, or a little: signals and children are looked after. Takes
    /// samples meanwhile.
    void sleep_until(std::chrono::milliseconds time);
    /// Waits for samples of any node, or for a signal, and takes the samples.
    void wait(std::chrono::milliseconds longest);
    [[nodiscard]] std::chrono::milliseconds next_reading() const;

    Config config_;
    beam::LocateOptions how_;
    DumpStore store_;
    EventLog& log_;
    std::atomic<bool>& asked_;
    const std::atomic<bool>& cancelled_;
    std::uint64_t started_ticks_ = 0;  // of this program, as NodeReader::start_ticks()
    bool request_refused_ = false;
    std::vector<Rule> rules_;    // the last two: of crash dumps, and by a signal
    std::set<Quantity> wanted_;  // by rules
    std::set<Quantity> all_;     // by rules and recordings
    bool scans_ = false;
    std::map<pid_t, Watched> nodes_;
    std::string last_ended_;  // NodeId::key() of the node that ended last
    std::map<pid_t, Candidate> candidates_;
    std::map<std::string, Crash> crashes_;  // by NodeId::key()
    std::optional<Capture> capture_;
    std::vector<Child> commands_;
};

}  // namespace beamdump::watch
