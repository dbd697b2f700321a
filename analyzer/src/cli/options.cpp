#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>

namespace beamdump::cli {

namespace {

constexpr std::array<std::string_view, 11> kCommands = {
    "summary", "processes", "process",  "messages",   "dictionary", "backtrace",
    "diff",    "heap",      "sections", "crash-dump", "convert"};

CLI::App* add_command(CLI::App& app, Options& options, Command command,
                      const std::string& description) {
    CLI::App* sub =
        app.add_subcommand(std::string(kCommands[static_cast<std::size_t>(command)]), description);
    sub->callback([&options, command] { options.command = command; });
    if (command != Command::kCrashDump && command != Command::kConvert) {
        sub->add_flag("--json", options.json, "Answer as JSON (see schemas/json)");
    }
    sub->add_flag("--stats", options.stats, "Say on standard error what was read of the file");
    return sub;
}

void add_dump(CLI::App* sub, Options& options) {
    sub->add_option("DUMP", options.dump, "The dump")->required();
}

void add_process(CLI::App* sub, Options& options) {
    sub->add_option("PROCESS", options.process, "<0.123.0>, 0.123.0 or a registered name")
        ->required();
}

/// Words of the command line that stand for other values.
struct Spelled {
    std::string sort = "memory";
    std::string term_limit = "none";
    std::vector<std::string> filters;
};

void add_processes(CLI::App& app, Options& options, Spelled& spelled) {
    CLI::App* sub = add_command(app, options, Command::kProcesses, "List processes, largest first");
    add_dump(sub, options);
    sub->add_option("--sort", spelled.sort, "memory (default), reductions, queue, name or pid")
        ->check(CLI::IsMember({"memory", "reductions", "queue", "name", "pid"}))
        ->option_text("ORDER");
    sub->add_option("--filter", spelled.filters,
                    "Only processes that show TEXT; FIELD=TEXT with pid, name, initial_call, "
                    "current_function or status looks in one field. Repeated: all must hold")
        ->type_size(1)
        ->allow_extra_args(false)
        ->option_text("TEXT");
    sub->add_option("--limit", options.processes.limit, "Show so many, 0 for all (default 20)")
        ->option_text("N");
}

void add_details(CLI::App& app, Options& options) {
    CLI::App* sub =
        add_command(app, options, Command::kProcess, "Show all that is known of a process");
    add_dump(sub, options);
    add_process(sub, options);
    sub->add_option("--limit", options.details.limit,
                    "Show so many items of each list, 0 for all (default 20)")
        ->option_text("N");
    sub->add_option("--term-bytes", options.details.term_bytes,
                    "Show so much of each term, 0 for all (default 200)")
        ->option_text("N");
    sub->add_flag("--sensitive", options.details.sensitive,
                  "Show the terms of a process that is flagged sensitive");
}

void add_messages(CLI::App& app, Options& options) {
    CLI::App* sub = add_command(app, options, Command::kMessages,
                                "Show a process's messages, and what they look like");
    add_dump(sub, options);
    add_process(sub, options);
    sub->add_option("--from", options.messages.from,
                    "Begin with this entry of its queues, counted from 0 (default 0)")
        ->option_text("N");
    sub->add_option("--limit", options.messages.limit, "Show so many, 0 for all (default 20)")
        ->option_text("N");
    sub->add_option("--term-bytes", options.messages.term_bytes,
                    "Show so much of each message, 0 for all (default 200)")
        ->option_text("N");
    sub->add_flag_callback(
        "--no-histogram", [&options] { options.messages.histogram = false; },
        "Do not count the shapes of all messages: read only those that are shown");
    sub->add_flag("--sensitive", options.messages.sensitive,
                  "Show the messages of a process that is flagged sensitive");
}

void add_dictionary(CLI::App& app, Options& options) {
    CLI::App* sub = add_command(app, options, Command::kDictionary, "Show a process's dictionary");
    add_dump(sub, options);
    add_process(sub, options);
    sub->add_option("--from", options.dictionary.from,
                    "Begin with this entry, counted from 0 (default 0)")
        ->option_text("N");
    sub->add_option("--limit", options.dictionary.limit, "Show so many, 0 for all (default 20)")
        ->option_text("N");
    sub->add_option("--term-bytes", options.dictionary.term_bytes,
                    "Show so much of each key and value, 0 for all (default 200)")
        ->option_text("N");
    sub->add_flag("--sensitive", options.dictionary.sensitive,
                  "Show the dictionary of a process that is flagged sensitive");
}

void add_backtrace(CLI::App& app, Options& options, Spelled& spelled) {
    constexpr std::size_t kLargestChunk = std::size_t{1} << 30U;
    CLI::App* sub = add_command(app, options, Command::kBacktrace,
                                "Show a process's stack, with its terms whole");
    add_dump(sub, options);
    add_process(sub, options);
    sub->add_flag("--lines", options.lines,
                  "Show frames with file and line, rather than the text that "
                  "process_info(P, backtrace) gives");
    sub->add_option("--chunk-size", options.backtrace_format.chunk_bytes,
                    "Make the text in pieces of so many bytes (default 65536)")
        ->check(CLI::Range(std::size_t{1}, kLargestChunk))
        ->option_text("BYTES");
    sub->add_option("--term-limit", spelled.term_limit,
                    "none (default), or classic: cut each term as the VM does")
        ->check(CLI::IsMember({"none", "classic"}))
        ->option_text("LIMIT");
    sub->add_option("--max-bytes", options.backtrace_format.max_bytes,
                    "End after so many bytes, with a notice on standard error")
        ->option_text("N");
    sub->add_flag("--sensitive", options.backtrace.sensitive,
                  "Show the stack of a process that is flagged sensitive");
}

void add_heap(CLI::App& app, Options& options) {
    CLI::App* sub =
        add_command(app, options, Command::kHeap,
                    "Show what holds a process's heap: roots and their sizes, live and "
                    "dead words, kinds of terms, the largest terms and the way to them");
    add_dump(sub, options);
    add_process(sub, options);
    sub->add_option("--limit", options.heap.limit,
                    "Show so many lines of each list, 0 for all roots (default 20)")
        ->option_text("N");
    sub->add_option("--term-bytes", options.heap.term_bytes,
                    "Show so much of each term, 0 for all (default 80)")
        ->option_text("N");
    sub->add_flag("--retained", options.heap.retained,
                  "Find, too, what would be freed if a term went away");
    sub->add_flag("--terms", options.heap.terms,
                  "List, too, the heap's top-level terms in address order, dead ones marked");
    sub->add_option("--max-memory", options.heap.max_memory,
                    "Take so much memory for tables at most, and files in TMPDIR or /var/tmp "
                    "beyond it (default 1GiB)")
        ->transform(CLI::AsSizeValue(false))
        ->option_text("BYTES");
    sub->add_flag("--sensitive", options.heap.sensitive,
                  "Show the terms of a process that is flagged sensitive");
}

void add_diff(CLI::App& app, Options& options) {
    CLI::App* sub = add_command(app, options, Command::kDiff,
                                "Compare two dumps of one node: born, gone, grown");
    sub->add_option("BEFORE", options.dump, "The earlier dump")->required();
    sub->add_option("AFTER", options.later_dump, "The later dump")->required();
    sub->add_option("--limit", options.diff_limit,
                    "Show so many processes of each kind, 0 for all (default 20)")
        ->option_text("N");
}

void add_sections(CLI::App& app, Options& options) {
    CLI::App* sub = add_command(app, options, Command::kSections,
                                "Show what a crash dump says beyond its processes: tables, ports, "
                                "timers, allocators, schedulers...");
    add_dump(sub, options);
    sub->add_option("TAG", options.sections.tag,
                    "Show the sections of this kind: ets, port, timer, allocator... Without it: "
                    "how many there are of each");
    sub->add_option("--limit", options.sections.limit, "Show so many, 0 for all (default 20)")
        ->option_text("N");
}

void add_crash_dump(CLI::App& app, Options& options) {
    CLI::App* sub = add_command(app, options, Command::kCrashDump,
                                "Write the dump as the VM writes a crash dump: as text that "
                                "crashdump_viewer opens");
    add_dump(sub, options);
    sub->add_option("-o,--output", options.output,
                    "The file to write; - (default): standard output")
        ->option_text("FILE");
    sub->add_flag("--force", options.force, "Replace an existing file");
    sub->add_option("--max-memory", options.crash_dump.max_memory,
                    "Take so much memory for marks at most, and files in TMPDIR or /var/tmp "
                    "beyond it (default 1GiB)")
        ->transform(CLI::AsSizeValue(false))
        ->option_text("BYTES");
    sub->add_flag("--sensitive", options.crash_dump.sensitive,
                  "Write the terms of processes that are flagged sensitive, too");
}

void add_convert(CLI::App& app, Options& options) {
    CLI::App* sub = add_command(app, options, Command::kConvert,
                                "Make a dump of a crash dump: smaller, and asked without waiting");
    sub->add_option("CRASH_DUMP", options.dump,
                    "The crash dump, plain or packed; -: from standard input")
        ->required();
    sub->add_option("-o,--output", options.output, "The dump to write")
        ->required()
        ->option_text("FILE");
    sub->add_flag("--force", options.force, "Replace an existing file");
}

void interpret(const Spelled& spelled, Options& options) {
    const std::map<std::string, query::ProcessSort> orders = {
        {"memory", query::ProcessSort::kMemory},
        {"reductions", query::ProcessSort::kReductions},
        {"queue", query::ProcessSort::kQueue},
        {"name", query::ProcessSort::kName},
        {"pid", query::ProcessSort::kPid}};
    options.processes.sort = orders.at(spelled.sort);
    options.backtrace.term_limit =
        spelled.term_limit == "classic" ? kClassicTermLimit : kNoTermLimit;
    for (const std::string& filter : spelled.filters) {
        options.processes.filters.push_back(query::parse_filter(filter));
    }
}

/// CLI11's message as the end of one line.
std::string one_sentence(std::string message) {
    std::ranges::replace(message, '\n', ' ');
    return message + "; --help tells more";
}

/// Whether `summary` is meant, unsaid: the first argument that is not an option is no command.
bool means_summary(const std::vector<std::string>& arguments) {
    const auto first = std::ranges::find_if(
        arguments, [](const std::string& argument) { return !argument.starts_with('-'); });
    return first != arguments.end() && std::ranges::find(kCommands, *first) == kCommands.end();
}

}  // namespace

Result<std::variant<Options, Notice>> parse_options(std::vector<std::string> arguments) {
    Options options;
    Spelled spelled;
    CLI::App app("Answers questions about a dump of an Erlang node. DUMP alone is summary.",
                 "beamdump-analyze");
    app.set_version_flag("--version", "beamdump-analyze " BEAMDUMP_VERSION);
    app.require_subcommand(1);
    app.footer("Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but incomplete.");
    add_dump(add_command(app, options, Command::kSummary, "Show the node, its memory, its largest"),
             options);
    add_processes(app, options, spelled);
    add_details(app, options);
    add_messages(app, options);
    add_dictionary(app, options);
    add_backtrace(app, options, spelled);
    add_diff(app, options);
    add_heap(app, options);
    add_sections(app, options);
    add_crash_dump(app, options);
    add_convert(app, options);
    if (arguments.empty()) {
        return fail(ErrorCode::kUsage,
                    "which dump? beamdump-analyze [COMMAND] DUMP; --help tells more");
    }
    if (means_summary(arguments)) {
        arguments.insert(arguments.begin(), "summary");
    }
    std::ranges::reverse(arguments);
    try {
        app.parse(arguments);
    } catch (const CLI::CallForHelp&) {
        return Notice{app.help()};
    } catch (const CLI::CallForAllHelp&) {
        return Notice{app.help()};
    } catch (const CLI::CallForVersion& version) {
        return Notice{std::string(version.what()) + "\n"};
    } catch (const CLI::Error& error) {
        return fail(ErrorCode::kUsage, one_sentence(error.what()));
    }
    interpret(spelled, options);
    return options;
}

}  // namespace beamdump::cli
