#include "cli/options.h"

#include "cli/crash_handler.h"

#include <libdump/base/architecture.h>
#include <libdump/base/byte_amount.h>
#include <libdump/base/return_if_error.h>
#include <libdump/format/format.h>
#include <libvm/nodes/node_choice.h>
#include <manual/fitted_help.h>
#include <manual/generate.h>
#include <program/command_line.h>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <builtin_layouts.h>
#include <ctime>
#include <optional>
#include <thread>

namespace beamdump::cli {
namespace {

constexpr unsigned kMaxDefaultThreads = 4;
constexpr unsigned kMaxThreads = 64;
constexpr int kMaxLevel = 19;  // zstd's levels above need much more memory
constexpr int kMaxMilliseconds = 86'400'000;
constexpr std::uint32_t kMaxTop = 1'000'000;
constexpr std::uint64_t kCrashDumps = 5;

/// The command line before validation.
struct RawOptions {
    std::string node;
    std::string core;
    std::string executable;
    std::optional<std::string> mode;
    std::string output;
    std::string layout;
    std::string binary_bytes = "64";
    std::optional<int> max_pause;
    std::string patience;
    std::optional<int> timeout;
    std::string max_size;
    std::optional<std::uint32_t> top;
    std::string by = "memory";
    std::vector<std::string> blocks;
    std::string ets;
    std::string redact;
    std::string profile;
    std::string history;
    std::string memory;
    std::string crashed;
    std::optional<int> head;
    std::uint64_t keep = kCrashDumps;
    std::string free_bytes = "1G";
    Options options;
};

// Memory of NIFs and drivers is in one allocator (erl_alloc.types: NIF_INTERNAL).
constexpr std::string_view kBinaryBlocks = "binary";
constexpr const char* kNifBlocks = "nif";
constexpr const char* kDriverBlocks = "driver_alloc";
constexpr std::string_view kAllocatorEnd = "_alloc";

/// What --blocks takes: names of allocators (erl_alloc.types, OTP 25 to 29) without their end.
std::vector<std::string> block_allocators() {
    return {"binary", "driver", "nif", "eheap", "ets", "fix", "std", "sl", "ll", "temp"};
}

unsigned default_threads() {
    return std::clamp(std::thread::hardware_concurrency(), 1U, kMaxDefaultThreads);
}

auto at_most(std::int64_t most) {
    return program::number_check(most, fmt::format("a number from 1 to {}", most));
}

std::string version_text() {
    std::vector<std::string> releases;
    for (const auto& layout : builtin_layouts()) {
        if (layout.architecture == kOwnArchitecture) {
            releases.emplace_back(layout.release);
        }
    }
    return fmt::format("beamdump-capture " BEAMDUMP_VERSION
                       "\n"
                       "Writes dumps of format {}.{}.\n"
                       "Layouts: OTP {}, on {} Linux with the JIT; for another release one is "
                       "inferred, or the "
                       "node is refused.",
                       format::kMajorVersion, format::kMinorVersion, fmt::join(releases, ", "),
                       name_of(kOwnArchitecture));
}

void declare(CLI::App& app, RawOptions& raw) {
    app.set_version_flag("--version", version_text(),
                         "Print the version, and the format and releases\nsupported, and exit");
    app.add_option(
           "NODE", raw.node,
           "Process id of the running node (beam.smp), or its name: rabbit@host, or\nrabbit; "
           "not needed if only one node runs here")
        ->type_name("")
        ->check(nodes::node_text_error, "");
    app.add_option("--core", raw.core,
                   "Read an ELF core (from the kernel or gcore)\ninstead of a running node")
        ->type_name("FILE");
    app.add_option("--exe", raw.executable,
                   "The executable of the core, if it is not at\nthe path that the core names")
        ->type_name("FILE");
    app.add_option("--crashed", raw.crashed,
                   "As the handler of core_pattern (core(5)): capture process P,\nwhich the kernel "
                   "holds as it dies, by its memory and the\ncore on standard input; -o is a "
                   "folder then (default:\n/var/lib/beamdump). What follows -- is the core_pattern "
                   "from\nbefore: it gets the core, also of other programs")
        ->type_name("P");
    app.add_option("--keep", raw.keep, "With --crashed: keep N dumps in the folder")
        ->capture_default_str()
        ->type_name("N")
        ->check(at_most(kMaxTop), "");
    app.add_option("--free", raw.free_bytes, "With --crashed: leave so much of the disk free")
        ->capture_default_str()
        ->type_name("BYTES");
    app.add_option(
           "--head", raw.head,
           "With --crashed: the beginning of the core is in this descriptor\n(what the handler "
           "gives the capture that it starts)")
        ->type_name("FD");
    app.add_option("--mode", raw.mode,
                   "live: never stop the node;\nauto (default): read live, with short stops for "
                   "processes that keep changing;\nsnapshot: fork the node in one short stop and "
                   "read the fork;\nfreeze: stop the node while it is read")
        ->type_name("MODE");
    app.add_option("--max-pause", raw.max_pause,
                   "Longest stop in milliseconds (auto: 50;\nfreeze: no limit)")
        ->type_name("MS")
        ->check(at_most(kMaxMilliseconds), "");
    app.add_option(
           "--patience", raw.patience,
           "Wait so long in all (10s, 500ms) for a moment at which\nlarge processes are not "
           "in a collection, before the\nnode is stopped; then stop it anyway (default: 3s)")
        ->type_name("TIME")
        ->check(program::duration_error, "");
    app.add_flag("--force-twin", raw.options.capture.force_twin,
                 "With --mode snapshot: fork even if a seccomp\nfilter might kill the node for it");
    app.add_option("--timeout", raw.timeout,
                   "Stop copying memory after S seconds; list the\nremaining processes without it")
        ->type_name("S")
        ->check(at_most(kMaxMilliseconds / 1000), "");
    app.add_option("--max-size", raw.max_size,
                   "Stop copying memory when the dump reaches BYTES\n(64M, 2G); list the remaining "
                   "processes, the\nlargest, without it")
        ->type_name("BYTES");
    app.add_option(
           "--process", raw.options.capture.processes,
           "Copy only this process's memory: <0.123.0>,\n0.123.0 or a registered name; repeatable")
        ->type_name("P")
        ->allow_extra_args(false);
    app.add_option("--top", raw.top, "Copy only the memory of the N largest processes")
        ->type_name("N")
        ->check(at_most(kMaxTop), "");
    app.add_option("--by", raw.by, "Sort key for --top: memory, queue or reductions")
        ->capture_default_str()
        ->type_name("WHAT");
    app.add_flag("--no-heaps", raw.options.capture.no_heaps, "List processes without their memory");
    app.add_flag("--no-literals", raw.options.capture.no_literals,
                 "Leave out literals: constants in the modules' code,\nwhich may contain secrets, "
                 "and persistent terms");
    app.add_option("--ets", raw.ets,
                   "Rows of ETS tables: full, sample (those of tables up to 4 MiB;\ndefault, but "
                   "none with --process, --top or --no-heaps), or none")
        ->check(CLI::IsMember({"full", "sample", "none"}))
        ->type_name("WHAT");
    app.add_option("--blocks", raw.blocks,
                   "Also list the blocks in use of these allocators (binary,driver;\nnif is "
                   "driver): memory --blocks then shows what no\nterm refers to. Reads and writes "
                   "more; rows of all ETS\ntables unless --ets says otherwise")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(block_allocators()), "")
        ->type_name("NAMES");
    app.add_flag("--search-pointers", raw.options.capture.search_pointers,
                 "Also search the node's memory for addresses in the blocks of\n--blocks (--mode "
                 "snapshot, or a core): memory --blocks then\ntells blocks that nothing has the "
                 "address of. Reads all memory");
    app.add_option("--reason", raw.options.capture.reason,
                   "Why the dump is taken, one line: the summary shows it")
        ->type_name("TEXT");
    app.add_option("--history", raw.history,
                   "Put readings of the node into the dump, as beamdump-watch\nhands them over: a "
                   "History message of the dump format")
        ->type_name("FILE");
    app.add_option("-o,--output", raw.output,
                   "The dump to write; -: standard output\n(default: beamdump-PID-TIME.beamdump "
                   "or\nCORE.beamdump in the current directory)")
        ->type_name("FILE");
    app.add_flag("--force", raw.options.force, "Replace an existing file");
    app.add_option(
           "--binary-bytes", raw.binary_bytes,
           "Bytes to keep of each reference-counted binary\n(of each part that a term shows "
           "four times as\nmany), or all")
        ->capture_default_str()
        ->type_name("N|all");
    app.add_option(
           "--profile", raw.profile,
           "First sample for so long (5s, 500ms, 2m) which functions\nuse processor time; the "
           "node is not stopped for it")
        ->type_name("TIME")
        ->check(program::duration_error, "");
    app.add_option("--redact", raw.redact,
                   "Hide values before they are written: structure (no\nvalues), text (binaries "
                   "and strings), or a JSON file\nwith a policy; sizes and shapes remain")
        ->type_name("POLICY");
    app.add_option("--level", raw.options.writer.level, "zstd compression level, 1 to 19")
        ->capture_default_str()
        ->type_name("N")
        ->check(at_most(kMaxLevel), "")
        ->each([&raw](const std::string&) { raw.options.effort_given = true; });
    app.add_option(
           "--threads", raw.options.writer.threads,
           "Compression threads, 1 to 64; with more than one, another\nthread reads the node")
        ->capture_default_str()
        ->type_name("N")
        ->check(at_most(kMaxThreads), "")
        ->each([&raw](const std::string&) { raw.options.effort_given = true; });
    app.add_option("--memory", raw.memory,
                   "Take at most SIZE (24M) of memory, 12M or more; with little,\none thread and "
                   "level 1 (also chosen if little is left)")
        ->type_name("SIZE");
    app.add_flag(
        "--no-cache", raw.options.no_cache,
        "Write the dump to the disk at once, and keep none of it in\nthe page cache, which "
        "counts as this container's memory");
    program::declare_locating(app, raw.layout, raw.options.capture.no_symbols,
                              raw.options.capture.debug_folder);
    app.add_flag(
        "--check", raw.options.check,
        "Report what a capture would find and cost, without\nstopping the node or writing a dump");
    app.add_flag(
        "--verbose", raw.options.verbose,
        "With --check: also which fields of the layout the checks verify, which takes some "
        "seconds, and how each table was found");
    app.add_flag("--quiet", raw.options.quiet, "No progress and no report; errors only");
    app.footer(
        "Example: beamdump-capture -o node.beamdump rabbit@host\n"
        "Example: beamdump-capture --check 4242\n"
        "Example: beamdump-capture --profile 5s -o node.beamdump 4242\n"
        "Example: beamdump-capture --top 20 --by queue -o queues.beamdump 4242\n"
        "Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but incomplete.");
    manual::add_generate(app);
}

/// The process that dies, by its number and the beginning of its core in a descriptor.
Result<void> set_crashed(const RawOptions& raw, Options& options) {
    if (raw.crashed.empty()) {
        return {};
    }
    const auto pid = nodes::pid_of(raw.crashed);
    if (!pid || !raw.head) {
        return fail(ErrorCode::kUsage,
                    fmt::format("--crashed takes a process id, not \"{}\": the handler of "
                                "core_pattern gets it as %P",
                                raw.crashed));
    }
    if (!raw.node.empty() || !raw.core.empty() || raw.mode || raw.max_pause ||
        !raw.patience.empty() || !raw.profile.empty() || options.check || raw.output == "-") {
        return fail(ErrorCode::kUsage,
                    "--crashed captures a process that dies: NODE, --core, --mode, --max-pause, "
                    "--patience, --profile, --check and -o - do not apply to it");
    }
    const auto free_bytes = byte_amount(raw.free_bytes);
    if (!free_bytes) {
        return fail(ErrorCode::kUsage,
                    fmt::format("--free takes a number of bytes such as 64M or 2G, not \"{}\"",
                                raw.free_bytes));
    }
    auto& capture = options.capture;
    capture.pid = *pid;
    capture.mode = records::CAPTURE_MODE_CRASHED;
    ASSIGN_OR_RETURN(capture.crash, crash_facts(*raw.head, *pid));
    if (!capture.timeout) {
        capture.timeout = kCrashTimeout;
    }
    ASSIGN_OR_RETURN(const auto output, crash_output(raw.output.empty() ? kCrashFolder : raw.output,
                                                     *pid, raw.keep, *free_bytes));
    options.output = output.path;
    options.output_named = true;
    capture.max_bytes = std::min(capture.max_bytes.value_or(output.most_bytes), output.most_bytes);
    return {};
}

/// The target to capture: a process or a core.
Result<void> set_target(const RawOptions& raw, Options& options) {
    auto& capture = options.capture;
    if (!raw.node.empty() && !raw.core.empty()) {
        return fail(ErrorCode::kUsage, "NODE and --core exclude each other; see --help");
    }
    if (!raw.executable.empty() && raw.core.empty()) {
        return fail(ErrorCode::kUsage,
                    "--exe needs --core: the executable of a running node is known");
    }
    if (!raw.core.empty() && (raw.mode || raw.max_pause || !raw.patience.empty())) {
        return fail(ErrorCode::kUsage,
                    fmt::format("{} does not apply to --core: a core has nothing to stop",
                                raw.mode        ? "--mode"
                                : raw.max_pause ? "--max-pause"
                                                : "--patience"));
    }
    if (!raw.core.empty() && capture.force_twin) {
        return fail(ErrorCode::kUsage, "--force-twin does not apply to --core");
    }
    if (!raw.core.empty() && options.check) {
        return fail(ErrorCode::kUsage, "--check needs a running node: it takes NODE, not --core");
    }
    if (options.verbose && !options.check) {
        return fail(ErrorCode::kUsage, "--verbose goes with --check");
    }
    if (!raw.profile.empty() && (!raw.core.empty() || options.check)) {
        return fail(ErrorCode::kUsage,
                    fmt::format("--profile does not apply to {}",
                                options.check ? "--check" : "--core: a core does nothing"));
    }
    options.profile = program::duration_of(raw.profile);
    if (!raw.history.empty()) {
        capture.history = raw.history;
    }
    if (const auto pid = nodes::pid_of(raw.node)) {
        capture.pid = *pid;
    } else if (raw.core.empty() && raw.crashed.empty()) {
        options.node = raw.node;
    }
    if (!raw.core.empty()) {
        capture.core = raw.core;
    }
    if (!raw.executable.empty()) {
        capture.executable = raw.executable;
    }
    return {};
}

Result<void> set_mode(const RawOptions& raw, Options& options) {
    if (options.capture.core) {
        options.capture.mode = records::CAPTURE_MODE_CORE;
        return {};
    }
    const std::string wanted = raw.mode.value_or("auto");
    static constexpr std::array kModes = {std::pair{"auto", records::CAPTURE_MODE_AUTO},
                                          std::pair{"live", records::CAPTURE_MODE_LIVE},
                                          std::pair{"snapshot", records::CAPTURE_MODE_SNAPSHOT},
                                          std::pair{"freeze", records::CAPTURE_MODE_FREEZE}};
    const auto* mode =
        std::ranges::find_if(kModes, [&](const auto& known) { return wanted == known.first; });
    if (mode == kModes.end()) {
        return fail(
            ErrorCode::kUsage,
            fmt::format("there is no mode \"{}\": use auto, live, snapshot or freeze", wanted));
    }
    options.capture.mode = mode->second;
    if (options.capture.force_twin && mode->second != records::CAPTURE_MODE_SNAPSHOT) {
        return fail(ErrorCode::kUsage,
                    "--force-twin needs --mode snapshot: auto never makes a twin of a node under a "
                    "seccomp filter");
    }
    return {};
}

Result<void> set_choice(const RawOptions& raw, Options& options) {
    auto& capture = options.capture;
    if (raw.max_pause) {
        if (capture.mode == records::CAPTURE_MODE_LIVE ||
            capture.mode == records::CAPTURE_MODE_SNAPSHOT) {
            return fail(
                ErrorCode::kUsage,
                fmt::format(
                    "--max-pause does not apply to mode {}: it limits the stops of auto and freeze",
                    *raw.mode));
        }
        capture.max_pause = std::chrono::milliseconds(*raw.max_pause);
    }
    if (!raw.patience.empty()) {
        if (capture.mode == records::CAPTURE_MODE_LIVE) {
            return fail(ErrorCode::kUsage,
                        "--patience does not apply to mode live: it stops nothing");
        }
        capture.patience = program::duration_of(raw.patience).value_or(capture::kDefaultPatience);
    }
    if (raw.timeout) {
        capture.timeout = std::chrono::seconds(*raw.timeout);
    }
    if (!raw.max_size.empty()) {
        capture.max_bytes = byte_amount(raw.max_size);
        if (!capture.max_bytes || *capture.max_bytes == 0) {
            return fail(
                ErrorCode::kUsage,
                fmt::format("--max-size takes a number of bytes such as 64M or 2G, not \"{}\"",
                            raw.max_size));
        }
    }
    capture.top = raw.top;
    if (raw.by == "queue") {
        capture.by = capture::ChooseBy::kQueue;
    } else if (raw.by == "reductions") {
        capture.by = capture::ChooseBy::kReductions;
    } else if (raw.by != "memory") {
        return fail(ErrorCode::kUsage,
                    fmt::format("--by takes memory, queue or reductions, not \"{}\"", raw.by));
    }
    return {};
}

Result<void> set_binary_bytes(const RawOptions& raw, Options& options) {
    if (raw.binary_bytes == "all") {
        options.capture.binary_bytes = std::nullopt;
        return {};
    }
    const auto bytes = byte_amount(raw.binary_bytes);
    if (!bytes) {
        return fail(ErrorCode::kUsage,
                    fmt::format("--binary-bytes takes a number of bytes or \"all\", not \"{}\"",
                                raw.binary_bytes));
    }
    options.capture.binary_bytes = bytes;
    return {};
}

/// What is not captured would pass for what refers to no binary.
Result<void> set_blocks(const RawOptions& raw, Options& options) {
    auto& capture = options.capture;
    for (const auto& name : raw.blocks) {
        capture.blocks.push_back(name == kNifBlocks ? kDriverBlocks
                                                    : name + std::string(kAllocatorEnd));
    }
    // Addresses move while a node runs, and it may have more memory than a stop has time for.
    const bool still = capture.mode == records::CAPTURE_MODE_SNAPSHOT ||
                       capture.mode == records::CAPTURE_MODE_CORE;
    if (capture.search_pointers && (raw.blocks.empty() || !still)) {
        return fail(
            ErrorCode::kUsage,
            "--search-pointers searches for addresses in the blocks that --blocks lists, in "
            "memory that stands still: it needs --blocks, and --mode snapshot or a core");
    }
    if (std::ranges::find(raw.blocks, kBinaryBlocks) == raw.blocks.end()) {
        return {};
    }
    const bool all =
        capture.processes.empty() && !raw.top && !capture.no_heaps && !capture.no_literals &&
        capture.ets.value_or(capture::EtsRowsWanted::kFull) == capture::EtsRowsWanted::kFull;
    if (!all) {
        return fail(ErrorCode::kUsage,
                    "--blocks binary tells which binaries nothing refers to, and so needs all that "
                    "may refer to them: no --process, --top, --no-heaps, --no-literals, nor --ets "
                    "other than full");
    }
    capture.ets = capture::EtsRowsWanted::kFull;
    return {};
}

Result<void> set_memory(const RawOptions& raw, Options& options) {
    if (raw.memory.empty()) {
        return {};
    }
    options.memory = byte_amount(raw.memory);
    if (!options.memory || *options.memory < kLeastMemory) {
        return fail(ErrorCode::kUsage,
                    fmt::format("--memory takes a number of bytes such as 12M or 64M, at least "
                                "{}M, not \"{}\"",
                                kLeastMemory >> 20U, raw.memory));
    }
    return {};
}

void set_output(const RawOptions& raw, Options& options) {
    options.to_stdout = raw.output == "-";
    options.output_named = !raw.output.empty();
    options.output = raw.output;
}

Result<Options> checked(RawOptions raw) {
    Options options = std::move(raw.options);
    RETURN_IF_ERROR(set_target(raw, options));
    RETURN_IF_ERROR(set_mode(raw, options));
    RETURN_IF_ERROR(set_choice(raw, options));
    RETURN_IF_ERROR(set_binary_bytes(raw, options));
    RETURN_IF_ERROR(set_memory(raw, options));
    if (!raw.ets.empty()) {
        options.capture.ets = raw.ets == "full"   ? capture::EtsRowsWanted::kFull
                              : raw.ets == "none" ? capture::EtsRowsWanted::kNone
                                                  : capture::EtsRowsWanted::kSample;
    }
    RETURN_IF_ERROR(set_blocks(raw, options));
    if (!raw.layout.empty()) {
        options.capture.layout = raw.layout;
    }
    if (!raw.redact.empty()) {
        ASSIGN_OR_RETURN(const auto policy, redact::read_policy(raw.redact));
        ASSIGN_OR_RETURN(options.capture.redactor, redact::Redactor::create(policy));
        options.writer.filter = options.capture.redactor;
    }
    options.capture.read_ahead = options.writer.threads > 1;
    set_output(raw, options);
    RETURN_IF_ERROR(set_crashed(raw, options));
    return options;
}

}  // namespace

std::filesystem::path made_up_output(const capture::CaptureOptions& capture) {
    return capture.core ? capture.core->filename().native() + ".beamdump"
                        : fmt::format("beamdump-{}-{:%Y%m%dT%H%M%SZ}.beamdump", capture.pid,
                                      fmt::gmtime(std::time(nullptr)));
}

Result<std::variant<Options, Answer>> parse_options(const std::vector<std::string>& arguments) {
    RawOptions raw;
    raw.options.writer.threads = default_threads();
    CLI::App app(
        "Takes a full, non-destructive debug dump of a running Erlang/OTP node, or of its core "
        "file.",
        "beamdump-capture");
    manual::fit_help(app);
    declare(app, raw);
    ASSIGN_OR_RETURN(auto answer, program::parse_command_line(app, arguments));
    if (answer) {
        return Answer{std::move(*answer)};
    }
    ASSIGN_OR_RETURN(auto options, checked(std::move(raw)));
    return options;
}

}  // namespace beamdump::cli
