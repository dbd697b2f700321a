#include "command/options.h"

#include "nodes/node_choice.h"
#include "program/command_line.h"
#include "program/number_check.h"

#include <libdump/base/return_if_error.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <manual/generate.h>

namespace beamdump::sampler {
namespace {

constexpr std::uint64_t kMaxPauseMs = 60'000;
constexpr std::uint64_t kMaxFrames = 65'536;

/// The command line before validation.
struct RawOptions {
    NodeOptions node;
    std::string layout;
    bool all = false;
    bool stop = false;
    std::optional<std::uint64_t> max_pause;
    std::uint64_t frames = StacksOptions().frames;
};

auto at_most(std::uint64_t most) {
    return program::number_check(most, fmt::format("a number from 1 to {}", most));
}

void declare_node(CLI::App& app, RawOptions& raw) {
    app.add_option(
           "NODE", raw.node.node,
           "Process id of the running node (beam.smp), or its name: rabbit@host, or\nrabbit; "
           "not needed if only one node runs here")
        ->type_name("")
        ->check(nodes::node_text_error, "");
    app.add_flag("--json", raw.node.json, "Write JSON");
    app.add_option("--layout", raw.layout,
                   "A layout to use for any release, or a folder of\nlayouts to use instead of the "
                   "built-in ones")
        ->type_name("FILE");
    app.add_flag(
        "--no-symbols", raw.node.no_symbols,
        "Find the runtime's tables by searching its data,\nas for an executable without symbols");
}

CLI::App* declare_stacks(CLI::App& app, RawOptions& raw) {
    auto* command = app.add_subcommand(
        "stacks", "Shows the Erlang stack of the process that each scheduler runs.");
    declare_node(*command, raw);
    command->add_flag("--all", raw.all, "Of every process");
    command->add_flag("--stop", raw.stop,
                      "Stop the node once, for as long as reading takes:\nall stacks are then of "
                      "one moment");
    command->add_option("--max-pause", raw.max_pause, "Longest stop in milliseconds (50)")
        ->type_name("MS")
        ->check(at_most(kMaxPauseMs), "");
    command->add_option("--frames", raw.frames, "Frames of a stack, at most")
        ->capture_default_str()
        ->type_name("N")
        ->check(at_most(kMaxFrames), "");
    command->footer("Example: beamdump-sample stacks rabbit@host");
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
    if (!raw.layout.empty()) {
        command.node.layout = raw.layout;
    }
    return command;
}

}  // namespace

Result<std::variant<Answer, StacksCommand>> parse_options(
    const std::vector<std::string>& arguments) {
    RawOptions raw;
    CLI::App app("Shows what a running Erlang/OTP node does, from outside.", "beamdump-sample");
    app.set_version_flag("--version", "beamdump-sample " BEAMDUMP_VERSION);
    app.require_subcommand(1);
    app.footer(
        "Nothing is loaded into the node. See beamdump-sample COMMAND --help.\n"
        "Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but incomplete.\n"
        "Example: beamdump-sample stacks rabbit@host");
    declare_stacks(app, raw);
    manual::add_generate(app);
    ASSIGN_OR_RETURN(auto answer, program::parse_command_line(app, arguments));
    if (answer) {
        return Answer{std::move(*answer)};
    }
    auto command = stacks_command(std::move(raw));
    if (!command) {
        return std::unexpected(command.error());
    }
    return std::move(*command);
}

}  // namespace beamdump::sampler
