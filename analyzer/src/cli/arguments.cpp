#include "cli/arguments.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"

#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <manual/generate.h>
#include <span>
#include <string_view>

namespace beamdump::cli {

namespace {

using Commands = std::span<const std::unique_ptr<Command>>;

/// CLI11's message as the end of one line.
std::string one_sentence(std::string message) {
    std::ranges::replace(message, '\n', ' ');
    return message + "; see --help";
}

bool is_command(Commands commands, std::string_view word) {
    return std::ranges::any_of(
        commands, [word](const auto& command) { return command->description().name == word; });
}

std::string nearest_command(Commands commands, std::string_view word) {
    Nearest nearest(word);
    for (const auto& command : commands) {
        nearest.add(command->description().name);
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
    const auto first = std::ranges::find_if(
        arguments, [&](const auto& one) { return one == "-" || !is_option(one); });
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
    arguments.insert(arguments.begin(), std::string(commands.front()->description().name));
    return arguments;
}

}  // namespace

Result<std::variant<Request, Notice>> parse_arguments(std::vector<std::string> arguments) {
    auto commands = make_commands();
    Request request;
    CLI::App app("Answers questions about a dump of an Erlang node. DUMP alone: summary.",
                 "beamdump-analyze");
    app.set_version_flag("--version", "beamdump-analyze " BEAMDUMP_VERSION);
    app.require_subcommand(1);
    app.footer("Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but incomplete.");
    for (auto& command : commands) {
        const auto description = command->description();
        CLI::App* sub =
            app.add_subcommand(std::string(description.name), std::string(description.purpose));
        sub->footer(fmt::format("Example: beamdump-analyze {}", description.example));
        sub->callback([&request, &command] { request.command = std::move(command); });
        command->add_options(*sub);
        add_limits(*sub, request.limits);
        sub->add_flag("--stats", request.stats, "Print read statistics to standard error");
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
    } catch (const CLI::Error& error) {
        return fail(ErrorCode::kUsage, one_sentence(error.what()));
    }
    RETURN_IF_ERROR(request.command->check_options());
    return request;
}

}  // namespace beamdump::cli
