#include "command/options.h"

#include <libdump/base/return_if_error.h>
#include <libvm/nodes/node_choice.h>
#include <manual/fitted_help.h>
#include <manual/generate.h>
#include <program/command_line.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace beamdump::sampler {
namespace {

constexpr std::uint64_t kMostRows = 10'000;
constexpr std::uint64_t kMostRefreshes = 1'000'000'000;

auto up_to(std::uint64_t most) {
    return program::number_check(most, fmt::format("a number from 1 to {}", most));
}

constexpr std::uint64_t kMaxPauseMs = 60'000;
constexpr std::uint64_t kMaxFrames = 65'536;
constexpr std::uint64_t kMaxRate = 10'000;
/// Where taking a sample lasts longer than a period, the kernel takes the next one before the
/// thread goes on, and logs that: at 95,000 in a virtual machine.
constexpr std::uint64_t kMaxBurstRate = 60'000;
constexpr std::uint64_t kMaxRows = 1'000'000;
constexpr std::uint64_t kMaxSeconds = 86'400;

/// The command line before validation.
struct RawOptions {
    NodeOptions node;
    std::string layout;
    bool all = false;
    bool stop = false;
    std::optional<std::uint64_t> max_pause;
    std::uint64_t frames = StacksOptions().frames;
    std::string duration = "10s";
    std::string threads_duration = "1s";
    std::uint64_t rate = ProfileOptions().rate;
    std::uint64_t alloc_rate = AllocOptions().rate;
    std::string by;
    std::string format;
    std::string native;
    std::vector<std::string> functions;
    bool stacks = false;
    bool exact = false;
    bool readings = false;
    bool stops = false;
    bool off_cpu = false;
    std::uint64_t limit = ProfileCommand().limit;
    std::uint64_t seconds = static_cast<std::uint64_t>(McpCommand().longest.count());
    RawTop top;
};

auto at_most(std::uint64_t most) {
    return program::number_check(most, fmt::format("a number from 1 to {}", most));
}

void declare_node(CLI::App& app, RawOptions& raw, bool with_json = true) {
    app.add_option(
           "NODE", raw.node.node,
           "Process id of the running node (beam.smp), or its name: rabbit@host, or\nrabbit; "
           "not needed if only one node runs here")
        ->type_name("")
        ->check(nodes::node_text_error, "");
    if (with_json) {
        app.add_flag("--json", raw.node.json, "Write JSON");
    }
    program::declare_locating(app, raw.layout, raw.node.no_symbols, raw.node.debug_folder);
}

void declare_frames(CLI::App& command, RawOptions& raw) {
    command.add_option("--frames", raw.frames, "Frames of a stack, at most")
        ->capture_default_str()
        ->type_name("N")
        ->check(at_most(kMaxFrames), "");
}

CLI::App* declare_stacks(CLI::App& app, RawOptions& raw) {
    auto* command = app.add_subcommand(
        "stacks", "Show the Erlang stack of the process that each scheduler runs.");
    declare_node(*command, raw);
    command->add_flag("--all", raw.all, "Of every process");
    command->add_flag("--stop", raw.stop,
                      "Stop the node once, for as long as reading takes:\nall stacks are then of "
                      "one moment");
    command->add_option("--max-pause", raw.max_pause, "Longest stop in milliseconds (50)")
        ->type_name("MS")
        ->check(at_most(kMaxPauseMs), "");
    declare_frames(*command, raw);
    command->footer(
        "Example: beamdump-sample stacks rabbit@host\n"
        "Example: beamdump-sample stacks --all 4242\n"
        "Example: beamdump-sample stacks --stop --max-pause 20 rabbit@host");
    return command;
}

void declare_duration(CLI::App& command, std::string& duration) {
    command.add_option("--duration", duration, "How long: 10s, 500ms, 2m")
        ->capture_default_str()
        ->type_name("TIME")
        ->check(program::duration_error, "");
}

void declare_limit(CLI::App& command, RawOptions& raw) {
    command.add_option("--limit", raw.limit, "Rows of a table, at most")
        ->capture_default_str()
        ->type_name("N")
        ->check(at_most(kMaxRows), "");
}

void declare_format(CLI::App& command, RawOptions& raw) {
    command
        .add_option("--format", raw.format,
                    "Write for other programs: folded (stacks for flame\ngraphs), speedscope or "
                    "pprof")
        ->type_name("FORMAT");
}

/// Options of all that shows stacks of samples.
void declare_sampling(CLI::App& command, RawOptions& raw) {
    declare_duration(command, raw.duration);
    command.add_option("--rate", raw.rate, "Samples for each second of a thread's processor time")
        ->capture_default_str()
        ->type_name("N")
        ->check(at_most(kMaxRate), "");
    command
        .add_option("--by", raw.by,
                    "Group by process, name (registered), initial_call,\nscheduler or thread")
        ->type_name("WHAT");
    declare_format(command, raw);
    declare_frames(command, raw);
    declare_limit(command, raw);
}

CLI::Option* declare_stops(CLI::App& command, RawOptions& raw) {
    return command.add_flag("--stops", raw.stops,
                            "Without perf events: stop each thread that runs, one at a\ntime, for "
                            "a fraction of a millisecond, and read where\nit is");
}

CLI::App* declare_profile(CLI::App& app, RawOptions& raw) {
    auto* command = app.add_subcommand(
        "profile", "Show which functions use processor time, by samples of the node's threads.");
    declare_node(*command, raw);
    declare_sampling(*command, raw);
    command->add_flag("--readings", raw.readings,
                      "Without perf events: read where processes last paused,\nas where the kernel "
                      "forbids perf events");
    command
        ->add_flag("--off-cpu", raw.off_cpu,
                   "Instead: where processes wait, how many, and for how\nlong the same ones have")
        ->excludes("--readings")
        ->excludes("--rate");
    declare_stops(*command, raw)->excludes("--readings")->excludes("--off-cpu");
    command->footer(
        "Example: beamdump-sample profile rabbit@host --duration 30s --by name\n"
        "Example: beamdump-sample profile rabbit@host --off-cpu\n"
        "Example: beamdump-sample profile 4242 --format folded > node.folded");
    return command;
}

CLI::App* declare_blame(CLI::App& app, RawOptions& raw) {
    auto* command = app.add_subcommand(
        "blame", "Show which Erlang functions are behind native code, such as collections.");
    declare_node(*command, raw);
    command
        ->add_option("--native", raw.native,
                     "Which native code: a function of the emulator, a BIF\n(ets:lookup/2), a "
                     "pattern (erts_alloc*), or one of\ngc, copy, alloc, ets and nif")
        ->required()
        ->type_name("WHAT");
    command->add_flag("--exact", raw.exact,
                      "Count and sample calls, by breakpoints of the\nprocessor; of at most four "
                      "functions");
    declare_sampling(*command, raw);
    declare_stops(*command, raw)->excludes("--exact");
    command->footer(
        "Example: beamdump-sample blame rabbit@host --native gc --duration 30s\n"
        "Example: beamdump-sample blame rabbit@host --native copy\n"
        "Example: beamdump-sample blame 4242 --native gc --by name");
    return command;
}

CLI::App* declare_perf_map(CLI::App& app, RawOptions& raw) {
    auto* command = app.add_subcommand(
        "perf-map", "Write the addresses of Erlang functions, for perf's reports.");
    declare_node(*command, raw, false);
    command->footer(
        "perf reads it as /tmp/perf-PID.map, with PID the node's process id. Nodes\n"
        "without +JPperf need one step more: see docs/sampling.md.\n"
        "Example: beamdump-sample perf-map 1234 > /tmp/perf-1234.map");
    return command;
}

CLI::App* declare_alloc(CLI::App& app, RawOptions& raw) {
    auto* command = app.add_subcommand(
        "alloc", "Show which functions allocate words on heaps, by samples of heap tops.");
    declare_node(*command, raw);
    declare_duration(*command, raw.duration);
    command
        ->add_option("--rate", raw.alloc_rate,
                     "Samples for each second of a thread's processor time in a\nburst")
        ->capture_default_str()
        ->type_name("N")
        ->check(at_most(kMaxBurstRate), "");
    command->add_flag("--stacks", raw.stacks,
                      "Words by stack too: which callers the functions had");
    declare_format(*command, raw);
    declare_frames(*command, raw);
    declare_limit(*command, raw);
    command
        ->add_option(
            "--function", raw.functions,
            "Only of this function, lists:map/2: its calls a second, words\nof a call, and "
            "callers, by breakpoints of the processor; at\nmost four times")
        ->allow_extra_args(false)
        ->type_name("FUNCTION")
        ->excludes("--rate")
        ->excludes("--stacks")
        ->excludes("--format")
        ->excludes("--frames");
    command->footer(
        "Example: beamdump-sample alloc rabbit@host --duration 30s\n"
        "Example: beamdump-sample alloc rabbit@host --function shop_cart:add/2\n"
        "Example: beamdump-sample alloc 4242 --format folded > words.folded");
    return command;
}

CLI::App* declare_threads(CLI::App& app, RawOptions& raw) {
    auto* command = app.add_subcommand(
        "threads", "Show what each thread of the emulator does: where it runs, what it waits for.");
    declare_node(*command, raw);
    declare_duration(*command, raw.threads_duration);
    declare_frames(*command, raw);
    declare_limit(*command, raw);
    command->footer(
        "Example: beamdump-sample threads rabbit@host\n"
        "Example: beamdump-sample threads rabbit@host --duration 10s\n"
        "Example: beamdump-sample threads 4242 --json");
    return command;
}

CLI::App* declare_mcp(CLI::App& app, RawOptions& raw) {
    auto* command = app.add_subcommand("mcp",
                                       "Serve stacks, profile, blame, alloc, threads and top to an "
                                       "assistant over standard input and "
                                       "output, by the Model Context Protocol.");
    declare_node(*command, raw, false);
    command->add_option("--max-seconds", raw.seconds, "Give up an answer that takes longer")
        ->capture_default_str()
        ->type_name("N")
        ->check(at_most(kMaxSeconds), "");
    command->footer("Example: beamdump-sample mcp rabbit@host");
    return command;
}

/// The commands of a program.
struct Commands {
    CLI::App* stacks = nullptr;
    CLI::App* profile = nullptr;
    CLI::App* blame = nullptr;
    CLI::App* alloc = nullptr;
    CLI::App* threads = nullptr;
    CLI::App* map = nullptr;
    CLI::App* top = nullptr;
    CLI::App* mcp = nullptr;
};

Commands declare_commands(CLI::App& app, RawOptions& raw) {
    Commands commands;
    commands.stacks = declare_stacks(app, raw);
    commands.profile = declare_profile(app, raw);
    commands.blame = declare_blame(app, raw);
    commands.alloc = declare_alloc(app, raw);
    commands.threads = declare_threads(app, raw);
    commands.map = declare_perf_map(app, raw);
    commands.top = app.add_subcommand(
        "top", "Show a node's processes live: growing heaps and mailboxes, reductions.");
    declare_node(*commands.top, raw);
    declare_top(*commands.top, raw.top);
    commands.mcp = declare_mcp(app, raw);
    return commands;
}

/// The format that was asked for, if one was.
Result<std::optional<StackFormat>> format_of(const RawOptions& raw) {
    if (raw.format.empty()) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(const auto format, parse_stack_format(raw.format));
    if (raw.node.json) {
        return fail(ErrorCode::kUsage, "--json and --format exclude each other");
    }
    return std::optional(format);
}

Result<AllocCommand> alloc_command(RawOptions raw) {
    AllocCommand command{.node = {}, .options = {}, .limit = raw.limit};
    ASSIGN_OR_RETURN(command.format, format_of(raw));
    RETURN_IF_ERROR(check_functions(raw.functions));
    command.functions = std::move(raw.functions);
    command.options.rate = static_cast<std::uint32_t>(raw.alloc_rate);
    command.options.duration =
        program::duration_of(raw.duration).value_or(command.options.duration);
    if (raw.stacks || command.format) {
        command.options.frames = raw.frames;
    }
    command.node = std::move(raw.node);
    return command;
}

ThreadsCommand threads_command(RawOptions raw) {
    ThreadsCommand command{.node = {}, .options = {}, .limit = raw.limit};
    command.options.duration =
        program::duration_of(raw.threads_duration).value_or(command.options.duration);
    command.options.frames = raw.frames;
    command.node = std::move(raw.node);
    return command;
}

Result<ProfileCommand> profile_command(RawOptions raw) {
    ProfileCommand command{.node = {}, .options = {}};
    ASSIGN_OR_RETURN(command.format, format_of(raw));
    command.node = std::move(raw.node);
    if (!raw.by.empty()) {
        ASSIGN_OR_RETURN(command.options.by, parse_samples_by(raw.by));
    }
    command.options.duration =
        program::duration_of(raw.duration).value_or(command.options.duration);
    if (!raw.native.empty()) {
        ASSIGN_OR_RETURN(command.options.only, NativeFilter::parse(raw.native));
    }
    command.options.exact = raw.exact;
    command.options.rate = static_cast<std::uint32_t>(raw.rate);
    command.options.readings = raw.readings;
    command.stops = raw.stops;
    command.off_cpu = raw.off_cpu;
    const auto by = command.options.by;
    if (raw.off_cpu && (by == SamplesBy::kScheduler || by == SamplesBy::kThread)) {
        return fail(ErrorCode::kUsage,
                    "--off-cpu: what waits is on no scheduler and no thread; --by takes process, "
                    "name or initial_call");
    }
    command.options.frames = raw.frames;
    command.limit = raw.limit;
    return command;
}

Result<StacksCommand> stacks_command(RawOptions raw) {
    if (raw.max_pause && !raw.stop) {
        return fail(ErrorCode::kUsage, "--max-pause needs --stop: without it nothing is stopped");
    }
    StacksCommand command{.node = std::move(raw.node), .options = {}};
    command.options.all = raw.all;
    command.options.stop = raw.stop;
    command.options.frames = raw.frames;
    if (raw.max_pause) {
        command.options.max_pause = std::chrono::milliseconds(*raw.max_pause);
    }
    return command;
}

}  // namespace

void declare_top(CLI::App& command, RawTop& raw) {
    command
        .add_option("--sort", raw.sort,
                    "What comes first: reductions (a second), memory (heaps),\ngrowth (of heaps, a "
                    "second), queue (waiting messages) or\nqueue-growth (a second)")
        ->capture_default_str()
        ->type_name("WHAT");
    command
        .add_option("--filter", raw.filter,
                    "Only processes with this text in pid, name, initial call or\ncurrent function")
        ->type_name("TEXT");
    command.add_option("--limit", raw.limit, "Processes in lines and JSON, at most")
        ->capture_default_str()
        ->type_name("N")
        ->check(up_to(kMostRows), "");
    command.add_option("--interval", raw.interval, "Time between readings: 2s, 500ms")
        ->capture_default_str()
        ->type_name("TIME")
        ->check(program::duration_error, "");
    command.add_option("--count", raw.count, "Write so many refreshes as lines, then end")
        ->type_name("N")
        ->check(up_to(kMostRefreshes), "");
    command.add_flag("--once", raw.once, "As --count 1");
    command.footer(
        "On a terminal it is a screen, with keys as shown there; elsewhere, and with\n"
        "--json, --count or --once, it writes lines.\n"
        "Example: beamdump-sample top rabbit@host --sort queue-growth\n"
        "Example: beamdump-sample top rabbit@host --once --limit 5\n"
        "Example: beamdump-sample top 4242 --interval 5s --json");
}

Result<TopSettings> top_settings(const RawTop& raw) {
    if (raw.once && raw.count > 1) {
        return fail(ErrorCode::kUsage, "--once and --count exclude each other");
    }
    TopSettings settings;
    ASSIGN_OR_RETURN(settings.options.sort, parse_top_sort(raw.sort));
    settings.options.limit = raw.limit;
    settings.options.filter = raw.filter;
    settings.interval = program::duration_of(raw.interval).value_or(settings.interval);
    if (raw.once || raw.count != 0) {
        settings.count = raw.once ? 1 : raw.count;
    }
    return settings;
}

Result<Command> parse_options(const std::vector<std::string>& arguments) {
    RawOptions raw;
    CLI::App app("Shows what a running Erlang/OTP node does, from outside.", "beamdump-sample");
    manual::fit_help(app);
    app.set_version_flag("--version", "beamdump-sample " BEAMDUMP_VERSION);
    app.require_subcommand(1);
    app.footer(
        "Nothing is loaded into the node. See beamdump-sample COMMAND --help.\n"
        "Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but incomplete.\n"
        "Example: beamdump-sample stacks rabbit@host\n"
        "Example: beamdump-sample profile rabbit@host --duration 30s\n"
        "Example: beamdump-sample top rabbit@host");
    const auto commands = declare_commands(app, raw);
    manual::add_generate(app);
    ASSIGN_OR_RETURN(auto answer, program::parse_command_line(app, arguments));
    if (answer) {
        return Answer{std::move(*answer)};
    }
    if (!raw.layout.empty()) {
        raw.node.layout = raw.layout;
    }
    if (commands.mcp->parsed()) {
        return McpCommand{std::move(raw.node), std::chrono::seconds(raw.seconds)};
    }
    if (commands.top->parsed()) {
        ASSIGN_OR_RETURN(auto settings, top_settings(raw.top));
        return TopCommand{std::move(raw.node), std::move(settings)};
    }
    if (commands.map->parsed()) {
        return PerfMapCommand{std::move(raw.node)};
    }
    if (commands.alloc->parsed()) {
        ASSIGN_OR_RETURN(auto command, alloc_command(std::move(raw)));
        return command;
    }
    if (commands.threads->parsed()) {
        return threads_command(std::move(raw));
    }
    if (commands.profile->parsed() || commands.blame->parsed()) {
        ASSIGN_OR_RETURN(auto command, profile_command(std::move(raw)));
        return command;
    }
    auto command = stacks_command(std::move(raw));
    if (!command) {
        return std::unexpected(command.error());
    }
    return std::move(*command);
}

void each_command(const std::function<void(const CLI::App& command)>& visit) {
    RawOptions raw;
    CLI::App app;
    const auto commands = declare_commands(app, raw);
    for (const auto* command : {commands.stacks, commands.profile, commands.blame, commands.alloc,
                                commands.threads, commands.map, commands.top, commands.mcp}) {
        visit(*command);
    }
}

}  // namespace beamdump::sampler
