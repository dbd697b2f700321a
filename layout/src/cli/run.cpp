#include "cli/run.h"

#include "dwarf/extract.h"
#include "file/layout_diff.h"
#include "file/layout_file.h"
#include "file/text_file.h"

#include <libdump/base/architecture.h>
#include <libdump/base/error.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/terminal_text.h>
#include <libvm/fit/layout_text.h>
#include <libvm/target/core/core_target.h>
#include <libvm/target/live_target.h>
#include <manual/fitted_help.h>
#include <manual/generate.h>
#include <manual/usage_error.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

namespace beamdump::layout {
namespace {

struct ExtractOptions {
    std::string program;    ///< built with -g
    std::string constants;  ///< layout/constants.c compiled with its flags; may be empty
    std::string like;       ///< a layout whose names are added; may be empty
    std::string names;      ///< instead of the built-in layout/names.json; may be empty
    std::string release;    ///< if the constants do not have it
    std::string source;     ///< the release's exact version and package
    std::string output;
};

Result<Names> wanted_names(const ExtractOptions& options) {
    auto names = options.names.empty() ? builtin_names() : read_names(options.names);
    if (names && !options.like.empty()) {
        ASSIGN_OR_RETURN(const auto like, read_layout(options.like));
        add_names_of(like, *names);
    }
    return names;
}

Result<std::string> release_of(const ExtractOptions& options, const ConstantsObject& constants) {
    const auto* told = find(constants.texts, "otp_release");
    if (told != nullptr && !options.release.empty() && *told != options.release) {
        return fail(ErrorCode::kUsage, fmt::format("{} is of OTP {}, not {}", options.constants,
                                                   *told, options.release));
    }
    const auto& release = told != nullptr ? *told : options.release;
    if (release.empty() ||
        !std::ranges::all_of(release, [](char c) { return c >= '0' && c <= '9'; })) {
        return fail(ErrorCode::kUsage,
                    "unknown release: give --constants, or --release with its number");
    }
    return release;
}

std::string source_of(const ExtractOptions& options, const DebugTypes& types,
                      const ConstantsObject& constants, std::string_view release) {
    auto text = options.source.empty() ? fmt::format("Erlang/OTP {}", release) : options.source;
    if (const auto* erts = find(constants.texts, "erts_version")) {
        text += fmt::format(", erts {}", *erts);
    }
    text += fmt::format(", {}", types.machine());
    if (const auto* flavor = find(constants.texts, "flavor")) {
        text += fmt::format(", {}", *flavor);
    }
    return text + fmt::format("; by beamdump-layout from the DWARF of a build by {}{}",
                              types.compiler(),
                              constants.constants.empty() ? "" : ", constants from its headers");
}

/// Writes the layout to options.output, and one line to `err` for each name that the release lacks.
Result<void> extract_to_file(const ExtractOptions& options, std::ostream& err) {
    ASSIGN_OR_RETURN(const auto names, wanted_names(options));
    ConstantsObject constants;
    if (!options.constants.empty()) {
        ASSIGN_OR_RETURN(auto read, read_constants(options.constants));
        constants = std::move(read);
    }
    ASSIGN_OR_RETURN(const auto release, release_of(options, constants));
    ASSIGN_OR_RETURN(const auto types, DebugTypes::open(options.program));
    auto extracted = extract(types, constants, names);
    if (!extracted) {
        return wrap(options.program, extracted.error());
    }
    if (extracted->structs.empty()) {
        return fail(ErrorCode::kNotABeam,
                    fmt::format("{} has none of the runtime's structures: is it an Erlang "
                                "emulator?",
                                options.program));
    }
    for (const auto& line : extracted->missing) {
        err << one_line(line) << '\n';
    }
    LayoutFile layout;
    // As the files of schemas/layouts are named, which are of x86-64 unless they say it.
    const bool is_x86 = types.machine() == name_of(Architecture::kX86_64);
    layout.name =
        fmt::format("otp-{}{}{}", release, is_x86 ? "" : "-", is_x86 ? "" : types.machine());
    layout.otp_release = release;
    layout.architecture = types.machine();
    layout.word_bytes = types.word_bytes();
    layout.source = source_of(options, types, constants, release);
    if (!extracted->constants.empty()) {
        layout.constants_source = names.constants_source;
    }
    layout.constants = std::move(extracted->constants);
    layout.structs = std::move(extracted->structs);
    return write_text(options.output, layout_json(layout));
}

struct CheckOptions {
    std::string target;      ///< a process id, or else the path of an ELF core
    std::string layout;      ///< a file; empty: the built-in layout of the node's release
    std::string executable;  ///< of a core, if it is not at the path in the core
};

/// Only digits are a process id; a core with such a name is ./1234.
std::optional<pid_t> process_id(const std::string& text) {
    pid_t pid = 0;
    const auto* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, pid);
    return parsed.ec == std::errc() && parsed.ptr == end && pid > 0 ? std::optional(pid)
                                                                    : std::nullopt;
}

/// The opened target.
struct Subject {
    fit::OpenTarget open;
    std::string incomplete{};  ///< how much of a core is missing, if any
};

Result<Subject> open_core(const CheckOptions& options) {
    std::optional<std::filesystem::path> executable;
    if (!options.executable.empty()) {
        executable = options.executable;
    }
    ASSIGN_OR_RETURN(const auto core, target::CoreTarget::open(options.target, executable));
    const auto again = [path = options.target, executable] {
        return target::CoreTarget::open(path, executable);
    };
    return Subject{again, core->incomplete()};
}

Result<Subject> open_subject(const CheckOptions& options) {
    const auto pid = process_id(options.target);
    if (!pid) {
        return open_core(options);
    }
    if (!options.executable.empty()) {
        return fail(ErrorCode::kUsage,
                    "--exe needs a core: the executable of a running node is known");
    }
    RETURN_IF_ERROR(target::LiveTarget::open(*pid));
    return Subject{[pid = *pid] { return target::LiveTarget::open(pid); }};
}

Result<beam::LocateOptions> layout_of(const CheckOptions& options) {
    beam::LocateOptions how;
    if (options.layout.empty()) {
        return how;
    }
    ASSIGN_OR_RETURN(const auto text, read_text(options.layout));
    auto layout = beam::Layout::parse(text);
    if (!layout) {
        return wrap(options.layout, layout.error());
    }
    how.layout = std::move(*layout);
    return how;
}

/// Whether an error is about the layout, not about reading the target.
bool of_the_layout(ErrorCode code) {
    return code == ErrorCode::kImplausible || code == ErrorCode::kUnsupported ||
           code == ErrorCode::kUnmapped;
}

/// Adds the layout's name to an error without it.
std::string refusal(const beam::LocateOptions& how, const Error& error) {
    const bool said = !how.layout || error.message.contains("does not fit");
    return said ? error.message
                : fmt::format("layout {} does not fit: {}", how.layout->name(), error.message);
}

/// Checks a layout on a running node or a core, and writes the results to `out`. Returns why it
/// does not fit; nullopt if it fits. Reads only; nothing is stopped. Fails if it could not be
/// checked.
Result<std::optional<std::string>> check_layout(const CheckOptions& options, std::ostream& out) {
    ASSIGN_OR_RETURN(const auto how, layout_of(options));
    ASSIGN_OR_RETURN(const auto subject, open_subject(options));
    const std::atomic<bool> cancelled(false);
    const auto checked = fit::locate_checked(subject.open, how, beam::kCheckTries, cancelled);
    if (!checked && !subject.incomplete.empty()) {
        return wrap(subject.incomplete, checked.error());
    }
    if (!checked) {
        return of_the_layout(checked.error().code)
                   ? Result<std::optional<std::string>>(refusal(how, checked.error()))
                   : std::unexpected(checked.error());
    }
    const auto fit =
        fit::probe_layout(*checked, subject.open, how, [](std::size_t, std::size_t) {}, cancelled);
    if (!fit) {
        return std::unexpected(fit.error());
    }
    out << fmt::format("OTP {} (ERTS {}), {}: {}\n", one_line(fit->otp_release),
                       one_line(fit->erts_version), fit->jit ? "JIT" : "interpreter",
                       one_line(options.target))
        << fit::layout_text(*fit) << "  Noticed:\n"
        << fit::fields_text(fit->fields.seen) << std::flush;
    return std::nullopt;
}

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
    extract.footer("Example: beamdump-layout extract beam.smp --constants constants.o -o 27.json");
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
