#include "cli/options.h"

#include <libdump/base/byte_amount.h>
#include <libdump/base/return_if_error.h>
#include <libvm/nodes/node_choice.h>
#include <manual/fitted_help.h>
#include <manual/generate.h>
#include <program/command_line.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sstream>

namespace beamdump::watch {
namespace {

constexpr std::uint64_t kMostDumps = 1'000'000;

/// The command line before validation.
struct RawOptions {
    std::string config, memory, output, interval, window, distance, bytes, free, command, capture,
        crash_dumps, record, record_profile, cgroup, layout;
    std::vector<std::string> nodes, rules;
    std::optional<std::uint64_t> most, keep;
    bool all = false;
    bool json = false;
    bool check = false;
};

std::string size_error(const std::string& text) {
    return byte_amount(text) ? std::string()
                             : fmt::format("\"{}\" is not an amount such as 512M or 20GiB", text);
}

auto at_most(std::uint64_t most) {
    return program::number_check(most, fmt::format("a number from 1 to {}", most));
}

void declare(CLI::App& app, RawOptions& raw) {
    app.set_version_flag("--version", "beamdump-watch " BEAMDUMP_VERSION,
                         "Print the version, and exit");
    app.add_option(
           "NODE", raw.nodes,
           "Names of nodes, rabbit@host or rabbit, patterns such as \"rabbit@*\",\nor process ids; "
           "not needed if only one node runs here. With a\nname the node may start later, and end "
           "and start again")
        ->type_name("")
        ->check(nodes::node_text_error, "");
    app.add_flag(
        "--all", raw.all,
        "Watch all nodes of this machine, those that start later too, also\nin containers");
    app.add_option("--memory", raw.memory,
                   "Take a dump when memory is above this for 5 s: a share of the\nlimit (90%) or "
                   "an amount (2GiB); as --rule 'memory > 90% for 5s'")
        ->type_name("AMOUNT");
    app.add_option("--rule", raw.rules,
                   "Take a dump when this is so: 'mailbox > 100000', 'total grows\n500MiB/10m', "
                   "'run_queue > 100 for 30s'; repeatable")
        ->type_name("RULE")
        ->allow_extra_args(false);
    app.add_option("--config", raw.config, "Rules and limits from a file in TOML")
        ->type_name("FILE");
    app.add_option("-o,--output", raw.output,
                   "The folder that the dumps go to (default: the current one)")
        ->type_name("FOLDER");
    app.add_option("--interval", raw.interval, "Time between two readings (default: 1s)")
        ->type_name("TIME")
        ->check(program::duration_error, "");
    app.add_option("--most", raw.most, "Dumps of one node in a window, at most (default: 3)")
        ->type_name("N")
        ->check(at_most(kMostDumps), "");
    app.add_option("--window", raw.window, "The window of --most (default: 24h)")
        ->type_name("TIME")
        ->check(program::duration_error, "");
    app.add_option("--distance", raw.distance,
                   "Least time between two dumps of one node (default: 10m)")
        ->type_name("TIME")
        ->check(program::duration_error, "");
    app.add_option("--keep", raw.keep,
                   "Dumps in the folder, at most: the oldest go, but the first of an\nincident "
                   "stays (default: 10)")
        ->type_name("N")
        ->check(at_most(kMostDumps), "");
    app.add_option("--bytes", raw.bytes, "Bytes of all dumps in the folder, at most: 20GiB")
        ->type_name("AMOUNT")
        ->check(size_error, "");
    app.add_option("--free", raw.free, "What stays free of the folder's disk (default: 1GiB)")
        ->type_name("AMOUNT")
        ->check(size_error, "");
    app.add_option("--capture", raw.capture,
                   "Options of beamdump-capture, as one text: '--redact structure'")
        ->type_name("OPTIONS");
    app.add_option("--command", raw.command,
                   "A command for the shell after each dump, with BEAMDUMP_FILE,\nBEAMDUMP_REASON, "
                   "BEAMDUMP_RULE, BEAMDUMP_NODE and BEAMDUMP_PID")
        ->type_name("COMMAND");
    app.add_option("--crash-dumps", raw.crash_dumps,
                   "What is done with a crash dump that a node writes: convert (to a\ndump in the "
                   "folder, the default), redact (the same, without the\nvalues) or ignore")
        ->type_name("HOW")
        ->check(
            [](const std::string& text) {
                return crash_dumps_named(text)
                           ? std::string()
                           : fmt::format("\"{}\" is not convert, redact or ignore", text);
            },
            "");
    app.add_option("--record", raw.record,
                   "Keep the readings of so long in a recording in the folder, and in\neach dump: "
                   "a time up to 24h (default: 1h), or off")
        ->type_name("TIME")
        ->check(
            [](const std::string& text) {
                return record_span_named(text)
                           ? std::string()
                           : fmt::format("\"{}\" is not a time such as 1h, at most 24h, or off",
                                         text);
            },
            "");
    app.add_option("--record-profile", raw.record_profile,
                   "Sample the node's threads as well, so often a second of processor\ntime (up to "
                   "100; 10 costs little), and keep a profile of each\nminute of an hour; off by "
                   "default")
        ->type_name("RATE")
        ->check(
            [](const std::string& text) {
                return profile_rate_named(text)
                           ? std::string()
                           : fmt::format("\"{}\" is not a number from 1 to 100, or off", text);
            },
            "");
    app.add_option(
           "--cgroup", raw.cgroup,
           "Move to this cgroup of the memory controller first, which is made\nif it is not "
           "there: what watcher and dumps take does not count\nagainst the node's limit")
        ->type_name("NAME")
        ->check(
            [](const std::string& text) {
                return is_cgroup_name(text) ? std::string()
                                            : fmt::format("\"{}\" is not {}", text, kCgroupNames);
            },
            "");
    app.add_flag("--check", raw.check, "Show what each rule sees now, and end");
    app.add_flag("--json", raw.json, "Write events as JSON, a line each");
    program::declare_layout(app, raw.layout);
    app.footer(
        "Rules look at memory (against its limit), resident, total, processes_memory,\n"
        "system, binary, code, ets, processes, ports, atoms, ets_tables, run_queue,\n"
        "scheduler_time, stalled, held, mailbox, mailboxes, pressure and limit_reached.\n"
        "The node is never stopped to be read; a dump may stop it for milliseconds, as\n"
        "beamdump-capture says. SIGUSR1, or a file take-dump in the folder, takes a dump\n"
        "now.\n"
        "Exit status: 0 done, 1 failed, 2 wrong usage.\n"
        "Example: beamdump-watch --memory 90% -o /var/lib/beamdump rabbit@host");
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) {
        words.push_back(word);
    }
    return words;
}

/// The options in place of what the file says.
Result<void> apply(const RawOptions& raw, Config& config) {
    const auto time = [](const std::string& text, std::chrono::milliseconds& into) {
        into = program::duration_of(text).value_or(into);
    };
    if (!raw.nodes.empty() && raw.all) {
        return fail(ErrorCode::kUsage, "--all watches every node: give it without a NODE");
    }
    if (!raw.nodes.empty() || raw.all) {
        config.nodes = raw.nodes;
        config.all = raw.all;
    }
    if (!raw.output.empty()) {
        config.folder = raw.output;
    }
    time(raw.interval, config.interval);
    time(raw.window, config.limits.window);
    time(raw.distance, config.limits.distance);
    config.limits.most = raw.most.value_or(config.limits.most);
    config.limits.keep = raw.keep.value_or(config.limits.keep);
    if (!raw.bytes.empty()) {
        config.limits.bytes = byte_amount(raw.bytes);
    }
    config.limits.free_bytes = byte_amount(raw.free).value_or(config.limits.free_bytes);
    for (auto& word : words_of(raw.capture)) {
        config.capture.push_back(std::move(word));
    }
    config.crash_dumps.take = crash_dumps_named(raw.crash_dumps).value_or(config.crash_dumps.take);
    config.record = record_span_named(raw.record).value_or(config.record);
    config.record_profile = profile_rate_named(raw.record_profile).value_or(config.record_profile);
    if (config.record_profile != 0 && config.record.count() == 0) {
        return fail(ErrorCode::kUsage,
                    "a profile is a part of the recording, which is off: give --record a time");
    }
    if (!raw.cgroup.empty()) {
        config.cgroup = raw.cgroup;
    }
    auto texts = raw.rules;
    if (!raw.memory.empty()) {
        texts.push_back(fmt::format("memory > {} for 5s", raw.memory));
    }
    for (const auto& text : texts) {
        ASSIGN_OR_RETURN(auto rule, parse_rule(text));
        const auto count = std::ranges::count_if(config.rules, [&rule](const Rule& other) {
            return other.name == rule.name || other.name.starts_with(rule.name + "_");
        });
        if (count > 0) {
            rule.name += fmt::format("_{}", count + 1);
        }
        config.rules.push_back(std::move(rule));
    }
    if (config.rules.empty()) {
        config.rules = default_rules();
    }
    if (!raw.command.empty()) {
        for (auto& rule : config.rules) {
            rule.command = rule.command.value_or(raw.command);
        }
        config.crash_dumps.command = config.crash_dumps.command.value_or(raw.command);
    }
    return {};
}

}  // namespace

std::vector<Rule> default_rules() {
    std::vector<Rule> rules;
    for (const std::string_view text :
         {"memory > 90% for 5s", "atoms > 90%", "processes > 90%", "ports > 90%"}) {
        rules.push_back(parse_rule(text).value_or(Rule()));
    }
    return rules;
}

Result<std::variant<WatchCommand, std::string>> parse_options(
    const std::vector<std::string>& arguments) {
    RawOptions raw;
    CLI::App app(
        "Watches running Erlang/OTP nodes from outside, and takes a dump when a rule says so.",
        "beamdump-watch");
    manual::fit_help(app);
    declare(app, raw);
    manual::add_generate(app);
    ASSIGN_OR_RETURN(auto answer, program::parse_command_line(app, arguments));
    if (answer) {
        return std::move(*answer);
    }
    WatchCommand command;
    if (!raw.config.empty()) {
        ASSIGN_OR_RETURN(command.config, read_config(raw.config));
    }
    RETURN_IF_ERROR(apply(raw, command.config));
    command.json = raw.json;
    command.check = raw.check;
    if (!raw.layout.empty()) {
        command.layout = raw.layout;
    }
    return command;
}

}  // namespace beamdump::watch
