#include "query/activity/crash.h"
#include "query/activity/schedulers.h"
#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/findings/runtime_fault.h"
#include "query/findings/start_failure.h"
#include "query/findings/unread_log.h"
#include "query/process/opened_process.h"
#include "query/tables/modules.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/format/left_out.h>
#include <libdump/format/unpaused_run.h>
#include <libdump/model/dump_form.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

// Rules about the node: why it ended, whether and how it runs, its code.

namespace beamdump::query {

namespace {

/// The text between `before` and the next `after`; nullopt where either is missing.
std::optional<std::string_view> between(std::string_view text, std::string_view before,
                                        std::string_view after) {
    const auto begin = text.find(before);
    if (begin == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(begin + before.size());
    const auto end = text.find(after);
    return end == std::string_view::npos ? std::nullopt : std::optional(text.substr(0, end));
}

/// " The thread that asked for it ran shop (<0.90.0>).", where the dump tells.
Result<std::string> caller(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* process, facts.calling_process());
    return process == nullptr
               ? std::string()
               : fmt::format(" The thread that asked for it ran {}.", process_with_name(*process));
}

/// `eheap_alloc: Cannot allocate 6801972448 bytes of memory (of type "heap").` (erl_alloc.c,
/// erts_alc_fatal_error(); OTP 25 to 29).
Result<std::optional<Finding>> out_of_memory(NodeFacts& facts, std::string_view slogan) {
    auto amount = between(slogan, ": Cannot allocate ", " bytes of memory");
    amount = amount ? amount : between(slogan, ": Cannot reallocate ", " bytes of memory");
    const auto bytes = amount ? decimal_number(*amount) : std::nullopt;
    if (!bytes) {
        return std::nullopt;
    }
    const auto type = between(slogan, "(of type \"", "\"").value_or("unknown");
    Finding finding;
    finding.figures = {{"requested_bytes", *bytes}, {"type", std::string(type)}};
    finding.command = facts.command("processes", {"--sort", "memory"});
    constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    ASSIGN_OR_RETURN(const auto asked, caller(facts));
    if (*bytes > kLargest) {
        finding.sentence = fmt::format(
            "The node ended as {} bytes were asked for (for \"{}\"), a size that had become "
            "negative or overflowed: not for lack of memory.{}",
            count_text(*bytes), type, asked);
        return finding;
    }
    const bool heap = type == "heap" || type == "old_heap" || type == "heap_frag";
    finding.sentence = fmt::format(
        "The node ended as it could not get {} of memory for {}.{}", bytes_text(*bytes),
        heap ? std::string("the heap of a process") : fmt::format("\"{}\"", type), asked);
    return finding;
}

/// `no more index entries in atom_tab (max=1048576)` (index.c, index_put_entry(); OTP 25 to 29).
Result<std::optional<Finding>> full_table(NodeFacts& facts, std::string_view slogan) {
    const auto table = between(slogan, "no more index entries in ", " ");
    if (!table) {
        return std::nullopt;
    }
    const auto limit = decimal_number(between(slogan, "(max=", ")").value_or(""));
    const bool atoms = *table == "atom_tab";
    Finding finding;
    finding.figures = {{"table", std::string(*table)}};
    if (limit) {
        finding.figures.push_back({"limit", *limit});
    }
    ASSIGN_OR_RETURN(const auto asked, caller(facts));
    finding.sentence = fmt::format(
        "The node ended as its table of {} was full{}.{}",
        atoms                     ? "atoms"
        : *table == "module_code" ? "modules"
                                  : *table,
        limit ? fmt::format(" ({} entries)", count_text(*limit)) : std::string(), asked);
    finding.command = atoms ? facts.command("atoms") : facts.command("sections", {"index_table"});
    return finding;
}

/// What the dump has beside the slogan of a failed start.
struct StartLog {
    std::string kept;    ///< " The first event of the log, which error_logger kept: ..."
    std::string unread;  ///< " The first message that logger has not read: ..."
    std::string command;
};

Result<StartLog> start_log(NodeFacts& facts) {
    StartLog log{.kept = {}, .unread = {}, .command = facts.command("processes")};
    ASSIGN_OR_RETURN(const auto unread, unread_logs(facts));
    if (!unread.empty()) {
        log.command = facts.command("messages", {unread.front().name});
        if (!unread.front().first.empty()) {
            log.unread = fmt::format(" The first message that {} has not read: {}.",
                                     unread.front().name, unread.front().first);
        }
    }
    if (facts.options().terms) {
        ASSIGN_OR_RETURN(const auto kept, first_kept_event(facts.dump()));
        if (kept) {
            log.kept = fmt::format(" The first event of the log, which {} kept: {}.", kept->process,
                                   kept->text);
            log.command = facts.command("backtrace", {kept->process});
        }
    }
    return log;
}

/// `Kernel pid terminated (application_controller) ({application_start_failure,shop,...` (init.erl,
/// terminate(); OTP 25 to 29; before R16 the reason is a tuple, too).
Result<std::optional<Finding>> kernel_ended(NodeFacts& facts, std::string_view slogan) {
    const auto name = between(slogan, "Kernel pid terminated (", ")");
    if (!name) {
        return std::nullopt;
    }
    Finding finding;
    finding.figures = {{"process", std::string(*name)}};
    const auto reason = reason_of_slogan(slogan);
    ASSIGN_OR_RETURN(const auto log, start_log(facts));
    finding.command = log.command;
    if (const auto failure = start_failure_of(reason)) {
        finding.sentence = fmt::format(
            "The node ended as the application {} did not start{}.{}", failure->application,
            failure->words ? ": " + *failure->words : "; the slogan does not say why",
            failure->words || !log.kept.empty() ? log.kept : log.unread);
        finding.figures.push_back({"application", failure->application});
    } else if (const auto ended = between(reason, "{application_terminated,", ",")) {
        finding.sentence = fmt::format(
            "The node ended as the application {}, started as permanent, had terminated: its top "
            "supervisor gave up.{}",
            *ended, log.kept);
        finding.figures.push_back({"application", std::string(*ended)});
    } else {
        finding.sentence = fmt::format(
            "The node ended with {}, a process of the kernel that it cannot do without.{}", *name,
            log.kept);
    }
    return finding;
}

/// What the boot script or the command line asks for failed. Both are done by init, whose slogans
/// begin with a capital or not, by release.
Result<std::optional<Finding>> start_failed(NodeFacts& facts, std::string_view slogan) {
    const auto words = slogan.substr(std::min<std::size_t>(slogan.size(), 1));
    if (!words.starts_with("nit terminating in do_boot") &&
        !words.starts_with("untime terminating during boot") &&
        !words.starts_with("ould not start kernel pid")) {
        return std::nullopt;
    }
    Finding finding;
    ASSIGN_OR_RETURN(const auto log, start_log(facts));
    finding.command = log.command;
    auto why = reason_in_words(reason_of_slogan(slogan));
    if (!why && facts.options().terms) {
        ASSIGN_OR_RETURN(const auto reason, reason_of_controller(facts.dump()));
        if (const auto failure = reason ? start_failure_of(*reason) : std::nullopt) {
            why = fmt::format("the application {} did not start{}", failure->application,
                              failure->words ? ": " + *failure->words : "");
            finding.command = facts.command("backtrace", {"application_controller"});
            finding.figures.push_back({"application", failure->application});
        }
    }
    finding.sentence =
        why ? fmt::format("The node ended while it started: {}.{}", *why, log.kept)
            : fmt::format(
                  "The node ended while it started: what its boot script or its command line asks "
                  "for failed. The slogan does not say why; what the node printed may.{}",
                  log.kept.empty() ? log.unread : log.kept);
    return finding;
}

std::optional<Finding> asked_to_end(NodeFacts& facts, std::string_view slogan) {
    // break.c, do_break(): OTP 27 and earlier write no line end behind it.
    const bool by_user = slogan.starts_with("Crash dump requested by user");
    if (!by_user && !slogan.starts_with("Received SIGUSR1")) {
        return std::nullopt;
    }
    Finding finding;
    finding.command = facts.command("processes");
    finding.sentence = fmt::format(
        "The node was asked to end and to write this dump ({}); it did not fail by itself.",
        by_user ? "A in the menu of its shell's Ctrl-C" : "SIGUSR1");
    return finding;
}

Result<std::optional<Finding>> runtime_fault(NodeFacts& facts, std::string_view slogan) {
    const auto fault = runtime_fault_of(slogan);
    if (!fault) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(const auto* process, facts.calling_process());
    Finding finding;
    finding.sentence = fmt::format(
        "The node ended as {}.{}", fault->words,
        process == nullptr
            ? std::string()
            : fmt::format(" The thread that found it ran {}.", process_with_name(*process)));
    finding.command = process == nullptr ? facts.command("processes")
                                         : facts.command("backtrace", {pid_word(*process)});
    if (process != nullptr) {
        finding.figures = {{"process", process->pid}};
    }
    return finding;
}

}  // namespace

/// What a slogan that the runtime writes means. Others are the node's own, of erlang:halt/1.
Result<RuleAnswer> slogan_rule(NodeFacts& facts) {
    RuleAnswer answer;
    const auto& slogan = facts.dump().capture().slogan();
    if (slogan.empty() && is_of_crash_dump(facts.dump())) {
        return fail(ErrorCode::kNotFound,
                    "the crash dump has no slogan, or its redaction hides it");
    }
    ASSIGN_OR_RETURN(auto finding, out_of_memory(facts, slogan));
    if (!finding) {
        ASSIGN_OR_RETURN(finding, full_table(facts, slogan));
    }
    if (!finding) {
        ASSIGN_OR_RETURN(finding, kernel_ended(facts, slogan));
    }
    if (!finding) {
        ASSIGN_OR_RETURN(finding, start_failed(facts, slogan));
    }
    if (!finding) {
        finding = asked_to_end(facts, slogan);
    }
    if (!finding) {
        ASSIGN_OR_RETURN(finding, runtime_fault(facts, slogan));
    }
    if (finding) {
        answer.findings.push_back(std::move(*finding));
    }
    return answer;
}

Result<RuleAnswer> crash_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto crash, read_crash(facts.dump(), facts.file()));
    RuleAnswer answer;
    if (crash.end == NodeEnd::kUnknown) {
        return fail(ErrorCode::kNotFound, "the dump does not tell whether a signal ended the node");
    }
    if (crash.end != NodeEnd::kSignal) {
        return answer;
    }
    Finding finding;
    finding.figures = {{"signal", crash.signal_name}};
    if (crash.died && crash.died->process) {
        finding.figures.push_back({"process", crash.died->process->pid});
    }
    finding.sentence = crash.causes.empty()
                           ? fmt::format("{} ended the node's process.", crash.signal_name)
                           : fmt::format("{} ended the node's process. {}", crash.signal_name,
                                         crash.causes.front().sentence);
    if (!crash.causes.empty()) {
        finding.figures.push_back({"cause", std::string(crash.causes.front().id)});
    }
    finding.command = facts.command("crash");
    answer.findings.push_back(std::move(finding));
    return answer;
}

/// A stopped node still keeps its connections: other nodes see a busy one, and then a timeout.
Result<RuleAnswer> stopped_node_rule(NodeFacts& facts) {
    RuleAnswer answer;
    if (!form_of(facts.dump()).system_process) {
        return answer;  // the node has ended
    }
    const auto& capture = facts.dump().capture();
    if (!capture.has_process_state()) {
        return fail(ErrorCode::kNotFound, "the dump does not tell the state of the node's process");
    }
    if (capture.process_state() != "T") {
        return answer;
    }
    Finding finding;
    finding.sentence =
        "The node was stopped by a signal (SIGSTOP, SIGTSTP) before the capture began: nothing "
        "runs in it until SIGCONT.";
    finding.command = facts.command("schedulers");
    answer.findings.push_back(std::move(finding));
    return answer;
}

namespace {

/// A node that has just enough work has less than ten in a queue, one that sends to hundreds of
/// processes at once has them there for a moment.
constexpr std::uint64_t kLongQueue = 200;

bool is_shared(const SchedulerLine& line) {
    return !line.scheduler && line.kind.ends_with("_queue");
}

std::string queue_name(const SchedulerLine& line) {
    if (is_shared(line)) {
        return line.kind.starts_with("dirty_cpu") ? "the run queue of dirty CPU schedulers"
                                                  : "the run queue of dirty I/O schedulers";
    }
    return line.scheduler ? fmt::format("the run queue of scheduler {}", *line.scheduler)
                          : "a run queue";
}

Result<std::string> process_name(NodeFacts& facts, const std::string& pid) {
    const auto row = facts.dump().find_process(pid);
    if (row) {
        return facts.named(pid);
    }
    // It may have started after the process table was read.
    return row.error().code == ErrorCode::kNotFound ? Result<std::string>(pid)
                                                    : std::unexpected(row.error());
}

}  // namespace

Result<RuleAnswer> run_queue_rule(NodeFacts& facts) {
    RuleAnswer answer;
    ASSIGN_OR_RETURN(auto lines, scheduler_lines(facts.dump()));
    std::ranges::stable_sort(lines, std::greater(),
                             [](const auto& line) { return line.queue.value_or(0); });
    std::uint64_t unknown = 0;
    for (const auto& line : lines) {
        unknown += (line.kind == "normal" || is_shared(line)) && !line.queue ? 1 : 0;
        if (line.queue.value_or(0) < kLongQueue || answer.findings.size() == kMostOfARule) {
            continue;
        }
        Finding finding;
        finding.sentence = fmt::format("{} processes and ports wait in {}", count_text(*line.queue),
                                       queue_name(line));
        finding.figures = {{"waiting", *line.queue}, {"kind", line.kind}};
        if (line.scheduler) {
            finding.figures.push_back({"scheduler", *line.scheduler});
        }
        if (line.process) {
            ASSIGN_OR_RETURN(const auto name, process_name(facts, *line.process));
            finding.sentence += fmt::format(", which runs {}", name);
            finding.figures.push_back({"process", *line.process});
        }
        finding.sentence += '.';
        finding.command = facts.command("schedulers");
        answer.findings.push_back(std::move(finding));
    }
    if (unknown != 0) {
        answer.left_out = fmt::format("{} could not be read", counted(unknown, "run queue"));
    }
    return answer;
}

/// Native code on a normal scheduler should return within a millisecond (erl_nif(3)): meanwhile
/// nothing else runs on that scheduler. The capture tells which processes had no pause.
Result<RuleAnswer> native_call_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    for (const auto row : scan->running.rows) {
        if (answer.findings.size() == kMostOfARule) {
            break;
        }
        ASSIGN_OR_RETURN(const auto line, facts.line(row));
        ASSIGN_OR_RETURN(const auto process, open_process(facts.dump(), line.pid));
        std::string_view told = process->run.end.detail();
        if (!told.starts_with(format::kUnpausedRun)) {
            continue;
        }
        told.remove_prefix(format::kUnpausedRun.size());
        told = told.substr(0, told.find(format::kBetweenDetails));
        Finding finding;
        finding.sentence = fmt::format(
            "{} ran without a pause for at least {}{}: native code (a NIF, BIF or driver) does not "
            "return, and its scheduler runs nothing else. beamdump-sample stacks shows where it "
            "is.",
            process_with_name(line), told,
            line.current_function
                ? fmt::format(", its last known function is {}", *line.current_function)
                : std::string());
        finding.command = facts.command("process", {pid_word(line)});
        finding.figures = {{"process", line.pid}, {"least", std::string(told)}};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

namespace {

/// A crash dump tells the size of old code, not who runs it.
Result<RuleAnswer> old_code_without_users(NodeFacts& facts) {
    ModulesOptions options;
    options.applications = false;
    const RowQuery query{.sort = std::string(kModuleSort), .filters = {"instance=old"}, .limit = 1};
    ASSIGN_OR_RETURN(auto modules, list_modules(facts.dump(), query, options));
    RuleAnswer answer;
    answer.left_out = facts.text_cut_off();
    const auto matching = modules.list.matching();
    const auto code_bytes = modules.list.sum_of_matching("code_bytes");
    const auto rows = modules.list.take();
    if (rows.empty()) {
        return answer;
    }
    const auto name = cell_text(rows.front()[column_place(module_columns(), "name")]);
    Finding finding;
    finding.figures = {{"modules", matching}, {"module", name}};
    std::string bytes;
    if (code_bytes) {
        bytes = fmt::format(", {} of code", bytes_text(*code_bytes));
        finding.figures.push_back({"code_bytes", *code_bytes});
    }
    finding.sentence = fmt::format(
        "Old code of {} has not been purged{}; a crash dump does not tell which processes run it.",
        matching == 1 ? name
                      : fmt::format("{} and {}", name, counted(matching - 1, "other module")),
        bytes);
    finding.command = facts.command("modules", {"--old"});
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace

/// A release candidate says so in its version ("28.0-rc1"), and in what it prints as its system's
/// version (erl_bif_info.c, erts_print_system_version(); OTP 25.2.3 and 27.3.4), as a crash dump
/// has it.
Result<RuleAnswer> release_candidate_rule(NodeFacts& facts) {
    RuleAnswer answer;
    const auto& node = facts.dump().node();
    if (!node.has_otp_version() && !node.has_system_version()) {
        return fail(ErrorCode::kNotFound, "the dump does not tell which version of OTP it is");
    }
    std::string version;
    if (node.otp_version().contains("-rc")) {
        version = fmt::format("OTP {}", node.otp_version());
    } else {
        for (const auto* sign : {"RELEASE CANDIDATE ", "DEVELOPMENT"}) {
            if (const auto rest = between(node.system_version(), fmt::format("[{}", sign), "]")) {
                version = fmt::format("OTP {} [{}{}]", node.otp_release(), sign, *rest);
            }
        }
    }
    if (version.empty()) {
        return answer;
    }
    Finding finding;
    finding.sentence = fmt::format(
        "The node runs {}: not a release, but what was tried before it. Its faults may be mended "
        "in the release.",
        version);
    finding.command = facts.command("summary");
    finding.figures = {{"version", version}};
    answer.findings.push_back(std::move(finding));
    return answer;
}

/// Old code that nobody runs is what each upgrade leaves; code that is run cannot be purged, and
/// loading the module once more ends its processes.
Result<RuleAnswer> old_code_rule(NodeFacts& facts) {
    if (!form_of(facts.dump()).code_instances) {
        return old_code_without_users(facts);
    }
    ASSIGN_OR_RETURN(const auto* old, facts.old_modules());
    RuleAnswer answer;
    if (old->empty()) {
        return answer;
    }
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    ModulesOptions query;
    query.users = true;
    query.applications = false;
    query.sensitive = facts.options().sensitive;
    query.progress = facts.options().progress;
    if (!facts.full()) {
        query.rows = scan->in_old_code.rows;
        answer.left_to_full = true;
        answer.left_out =
            "looked at processes only whose current function is in a module that has "
            "old code";
    }
    ASSIGN_OR_RETURN(auto report, module_lines(facts.dump(), query));
    if (report.read) {
        facts.tell_read(*report.read);
    }
    std::erase_if(report.lines,
                  [](const auto& module) { return module.user_count.value_or(0) == 0; });
    std::ranges::stable_sort(report.lines, std::greater(), [](const auto& module) {
        return std::pair(module.user_count, module.code_bytes);
    });
    report.lines.resize(std::min<std::size_t>(report.lines.size(), kMostOfARule));
    for (const auto& module : report.lines) {
        const bool more = !facts.full() && !scan->in_old_code.all();
        Finding finding;
        finding.sentence = fmt::format(
            "Old code of {} is kept by {}{}.", module.name, more ? "at least " : "",
            counted(*module.user_count, "process that runs it", "processes that run it"));
        finding.command = facts.command("modules", {"--old", "--users"});
        finding.figures = {{"processes", *module.user_count}, {"module", module.name}};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
