#include "cli/run.h"

#include "cli/check_command.h"
#include "cli/extract_command.h"
#include "diff/layout_diff.h"

#include <libdump/base/error.h>
#include <libdump/base/terminal_text.h>
#include <manual/fitted_help.h>
#include <manual/generate.h>
#include <manual/usage_error.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace beamdump::layout {
namespace {

constexpr int kDone = 0;
constexpr int kDifferent = 1;
constexpr int kDoesNotFit = 1;
constexpr int kFailed = 2;

struct Commands {
    CLI::App* extract = nullptr;
    CLI::App* diff = nullptr;
    CLI::App* check = nullptr;
    ExtractOptions options;
    CheckOptions check_options;
    std::string a;
    std::string b;
};

void declare_extract(CLI::App& app, Commands& commands) {
    commands.extract =
        app.add_subcommand("extract", "Make a layout from an emulator built with -g");
    auto& extract = *commands.extract;
    auto& options = commands.options;
    extract.add_option("BEAM", options.program, "The emulator (beam.smp), with DWARF")
        ->type_name("")
        ->required();
    extract.add_option("-o,--output", options.output, "The layout to write: otp-NN.json")
        ->type_name("FILE")
        ->required();
    extract
        .add_option("--constants", options.constants,
                    "layout/constants.c, compiled with the emulator's\nflags "
                    "(scripts/build-debug-otp makes both)")
        ->type_name("FILE.o");
    extract.add_option("--like", options.like, "A layout: also look for the names in it")
        ->type_name("LAYOUT");
    extract.add_option("--names", options.names, "Names to look for, instead of layout/names.json")
        ->type_name("FILE");
    extract.add_option("--release", options.release, "The release number, if no constants give it")
        ->type_name("NN");
    extract
        .add_option("--source", options.source,
                    "Exact version and origin, recorded in the layout:\n\"Erlang/OTP 27.3.4.1 "
                    "(Debian ...)\"")
        ->type_name("TEXT");
    extract.footer(
        "Example: beamdump-layout extract beam.debug.smp --constants constants.o -o otp-27.json");
}

void declare_diff(CLI::App& app, Commands& commands) {
    commands.diff = app.add_subcommand(
        "diff", "Compare two layouts; exit status 0: equal, 1: different, 2: failed");
    commands.diff->add_option("A", commands.a, "A layout")->type_name("")->required();
    commands.diff->add_option("B", commands.b, "Another layout")->type_name("")->required();
    commands.diff->footer("Example: beamdump-layout diff otp-25.json otp-27.json");
}

void declare_check(CLI::App& app, Commands& commands) {
    commands.check =
        app.add_subcommand("check",
                           "Check a layout on a core or a running node, without stopping it; exit "
                           "status 0: fits, 1: does not fit, 2: failed");
    auto& options = commands.check_options;
    commands.check
        ->add_option("TARGET", options.target,
                     "The node's process id, or its ELF core (from the\nkernel or gcore)")
        ->type_name("PID|CORE")
        ->required();
    commands.check
        ->add_option("--layout", options.layout,
                     "The layout to check, instead of the built-in one\nfor the node's release")
        ->type_name("FILE");
    commands.check
        ->add_option("--exe", options.executable,
                     "The executable of the core, if it is not at the\npath that the core names")
        ->type_name("FILE");
    commands.check->footer("Example: beamdump-layout check 4242 --layout otp-27.json");
}

void declare(CLI::App& app, Commands& commands) {
    app.set_version_flag("--version", "beamdump-layout " BEAMDUMP_VERSION);
    app.require_subcommand(1);
    declare_extract(app, commands);
    declare_diff(app, commands);
    declare_check(app, commands);
    app.footer("Example: beamdump-layout check --help");
    manual::add_generate(app);
}

/// A sentence is one line.
void report(std::ostream& err, std::string sentence) {
    std::ranges::replace(sentence, '\n', ' ');
    err << fmt::format("beamdump-layout: {}\n", one_line(sentence)) << std::flush;
}

int give_up(std::ostream& err, const Error& error) {
    report(err, error.message);
    return kFailed;
}

int run_check(const Commands& commands, std::ostream& out, std::ostream& err) {
    const auto refused = check_layout(commands.check_options, out);
    if (!refused) {
        return give_up(err, refused.error());
    }
    if (*refused) {
        report(err, **refused);
        return kDoesNotFit;
    }
    return out ? kDone : kFailed;
}

int run_diff(const Commands& commands, std::ostream& out, std::ostream& err) {
    const auto a = read_layout(commands.a);
    const auto b = read_layout(commands.b);
    if (!a || !b) {
        return give_up(err, !a ? a.error() : b.error());
    }
    const auto lines = layout_diff(*a, *b);
    for (const auto& line : lines) {
        out << one_line(line) << '\n';
    }
    out << std::flush;
    return lines.empty() ? kDone : kDifferent;
}

}  // namespace

int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
    CLI::App app(
        "Makes, compares and checks layouts: the structures of an Erlang/OTP release in memory",
        "beamdump-layout");
    manual::fit_help(app);
    Commands commands;
    declare(app, commands);
    auto reversed = arguments;
    std::ranges::reverse(reversed);  // what CLI11 wants
    try {
        app.parse(reversed);
    } catch (const CLI::Success& asked) {
        app.exit(asked, out, err);  // --help, --version
        return kDone;
    } catch (const CLI::ParseError& error) {
        report(err, manual::usage_error(app, error));
        return kFailed;
    }
    if (commands.diff->parsed()) {
        return run_diff(commands, out, err);
    }
    if (commands.check->parsed()) {
        return run_check(commands, out, err);
    }
    const auto done = extract_to_file(commands.options, err);
    return done ? kDone : give_up(err, done.error());
}

}  // namespace beamdump::layout
