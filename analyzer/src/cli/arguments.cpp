#include "cli/arguments.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"

#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>
#include <libdump/format/format.h>
#include <manual/fitted_help.h>
#include <manual/generate.h>
#include <manual/usage_error.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ranges>
#include <span>
#include <string>
#include <string_view>

namespace beamdump::cli {

namespace {

constexpr int kMaxThreads = 64;

using Commands = std::span<const GroupedCommand>;

bool is_command(Commands commands, std::string_view word) {
    return std::ranges::any_of(
        commands, [word](const auto& entry) { return entry.command->description().name == word; });
}

std::string nearest_command(Commands commands, std::string_view word) {
    Nearest nearest(word);
    for (const auto& entry : commands) {
        nearest.add(entry.command->description().name);
    }
    return nearest.best();
}

/// If the first argument that is not an option is not a command, the command is missing, misspelled
/// or in the wrong place. Returns the arguments with the intended command, or an error that
/// suggests one.
Result<std::vector<std::string>> with_command(Commands commands,
                                              std::vector<std::string> arguments) {
    const auto is_option = [](const std::string& argument) { return argument.starts_with('-'); };
    if (std::ranges::find(arguments, "--generate") != arguments.end()) {
        return arguments;  // what follows is its value
    }
    auto first = arguments.begin();
    // The only option before a command that may have its value behind it.
    while (first != arguments.end() && *first != "-" && is_option(*first)) {
        first += *first == "--color" && std::next(first) != arguments.end() ? 2 : 1;
    }
    if (first == arguments.end() || is_command(commands, *first)) {
        return arguments;
    }
    std::error_code ignored;
    const bool exists = *first == "-" || std::filesystem::exists(*first, ignored);
    const auto second = std::next(first);
    if (second != arguments.end() && exists && is_command(commands, *second)) {
        return fail(ErrorCode::kUsage,
                    fmt::format("the command comes before the dump; did you mean: "
                                "beamdump-analyze {} {}",
                                *second, *first));
    }
    if (const auto meant = nearest_command(commands, *first); !exists && !meant.empty()) {
        return fail(ErrorCode::kUsage,
                    fmt::format("\"{}\" is neither a command nor a file; did you mean \"{}\"?",
                                *first, meant));
    }
    if (!exists && second != arguments.end() && !is_option(*second)) {
        return fail(ErrorCode::kUsage,
                    fmt::format("\"{}\" is neither a command nor a file; see --help", *first));
    }
    arguments.insert(arguments.begin(), std::string(commands.front().command->description().name));
    return arguments;
}

/// How an answer is shown, whichever it is.
void add_terminal_options(CLI::App& app, Request& request) {
    static const std::map<std::string, Colors> kChoices = {
        {"auto", Colors::kAuto}, {"always", Colors::kAlways}, {"never", Colors::kNever}};
    app.add_option("--color", request.colors,
                   "Colours: auto (default: on a terminal, unless NO_COLOR is set), always or "
                   "never")
        ->transform(CLI::CheckedTransformer(kChoices).description("{auto,always,never}"))
        ->type_name("WHEN");
    app.add_flag_callback(
        "--no-pager", [&request] { request.pager = false; },
        "Do not start a pager (BEAMDUMP_PAGER, PAGER or less) for answers on a terminal");
}

/// What all commands have.
void add_common_options(CLI::App& command, Request& request) {
    const auto own = command.get_options().size();
    add_limits(command, request.limits);
    // In `ets`, --key chooses rows.
    const bool taken = command.get_option_no_throw("--key") != nullptr;
    command
        .add_option(taken ? "--private-key" : "--key,--private-key", request.key,
                    "Private key (PEM) of an encrypted crash dump")
        ->option_text("FILE");
    command.add_flag_callback(
        "--no-cache", [&request] { request.cache = false; },
        "Neither use nor keep what an earlier question found in the crash dump "
        "(BEAMDUMP_CACHE=off)");
    command
        .add_option("--threads", request.threads,
                    "Threads that decompress ahead, 1 to 64 (default: as many as "
                    "there are processors, at most 4)")
        ->check(CLI::Range(1, kMaxThreads).description(""))
        ->option_text("N");
    command.add_flag("--stats", request.stats, "Print read statistics to standard error");
    const auto options = command.get_options();
    for (auto* option : std::span(options).subspan(own)) {
        option->group("Options of every command");
    }
}

std::string examples_text(std::string_view examples) {
    std::string text;
    for (const auto line : std::views::split(examples, '\n')) {
        text += fmt::format("{}Example: beamdump-analyze {}", text.empty() ? "" : "\n",
                            std::string_view(line.begin(), line.end()));
    }
    return text;
}

}  // namespace

Result<std::variant<Request, Notice>> parse_arguments(std::vector<std::string> arguments) {
    auto commands = make_commands();
    Request request;
    CLI::App app("Answers questions about a dump of an Erlang node. DUMP alone: summary.",
                 "beamdump-analyze");
    manual::fit_help(app);
    // Crash dumps: docs/crash-dump-import.md, versions of the text.
    app.set_version_flag(
        "--version",
        fmt::format("beamdump-analyze " BEAMDUMP_VERSION "\n"
                    "Reads dumps of format {0}, and Erlang crash dumps of OTP R10 to 29 (text up "
                    "to version 0.5).\n"
                    "Writes dumps of format {0}.{1} (convert) and crash dump text of version 0.5.",
                    format::kMajorVersion, format::kMinorVersion),
        "Print the version, and the formats and releases supported, and exit");
    app.require_subcommand(1);
    add_terminal_options(app, request);
    app.footer(
        "Example: beamdump-analyze node.beamdump\n"
        "Example: beamdump-analyze processes node.beamdump --sort queue --limit 5\n"
        "Example: beamdump-analyze processes --help\n"
        "What to ask, by symptom: docs/symptoms.md (/usr/share/doc/beamdump/docs).\n"
        "Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but incomplete.");
    for (auto& [command, group] : commands) {
        const auto description = command->description();
        CLI::App* sub =
            app.add_subcommand(std::string(description.name), std::string(description.purpose));
        sub->group(std::string(group));
        sub->fallthrough();  // to the options of the program
        sub->footer(examples_text(description.examples));
        sub->callback([&request, &command] { request.command = std::move(command); });
        command->add_options(*sub);
        add_common_options(*sub, request);
    }
    manual::add_generate(app);
    if (arguments.empty()) {
        return fail(ErrorCode::kUsage,
                    "DUMP is required: beamdump-analyze [COMMAND] DUMP; see --help");
    }
    ASSIGN_OR_RETURN(auto complete, with_command(commands, std::move(arguments)));
    std::ranges::reverse(complete);
    try {
        app.parse(complete);
    } catch (const CLI::CallForHelp&) {
        return Notice{app.help()};
    } catch (const CLI::CallForAllHelp&) {
        return Notice{app.help()};
    } catch (const CLI::CallForVersion& version) {
        return Notice{std::string(version.what()) + "\n"};
    } catch (const CLI::ParseError& error) {
        return fail(ErrorCode::kUsage, manual::usage_error(app, error));
    }
    RETURN_IF_ERROR(request.command->check_options());
    return request;
}

}  // namespace beamdump::cli
