#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/process/opened_process.h"
#include "query/process/process_names.h"
#include "query/tables/applications.h"
#include "query/term/term_text.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/term/frame_cursor.h>
#include <libdump/term/term_printer.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

// Rules about what does not start: applications, children of supervisors, tables, and holders of
// global locks.

namespace beamdump::query {

namespace {

/// What the process of an application runs: start/2, start_phase/3 or stop/1 of a module.
struct ApplicationCall {
    std::optional<std::uint32_t> module;  ///< an atom
    std::string_view function;
    bool stops = false;
};

/// The only one of the atoms in y registers that names a module.
std::optional<std::uint32_t> module_in(const StackFrame& frame, const TagScheme& scheme,
                                       const std::set<std::uint32_t>& modules) {
    std::set<std::uint32_t> found;
    for (const FrameRegister& y : frame.registers) {
        if (!y.is_catch && word_kind(scheme, y.word) == WordKind::kAtom) {
            const auto atom = static_cast<std::uint32_t>(table_index(y.word));
            if (modules.contains(atom)) {
                found.insert(atom);
            }
        }
    }
    return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
}

/// What application_master has called, which keeps the module in its frame: a last call of
/// start/2, as of supervisor:start_link/2, has no frame (application_master.erl, OTP 25.2.3 to
/// 29.1.1). nullopt: it has called nothing, or the stack is not in the dump.
std::optional<ApplicationCall> application_call(Dump& dump, OpenedProcess& process,
                                                const std::set<std::uint32_t>& modules) {
    FrameCursor frames(process.context(), process.scheme, process.stack());
    bool phase = false;
    while (const auto frame = frames.next()) {
        const auto function = frame->location ? frame->location->function : std::nullopt;
        if (!function) {
            continue;
        }
        const auto module = atom_text(dump, function->module_atom);
        phase = phase || module == "application_starter";
        if (module != "application_master") {
            continue;
        }
        if (frame->index == 0) {
            return std::nullopt;
        }
        ApplicationCall call{.module = module_in(*frame, process.scheme, modules),
                             .function = phase ? "start_phase/3" : "start/2",
                             .stops = false};
        // It waits in loop_it/4 for the application's end, and calls stop/1 from there.
        if (atom_text(dump, function->function_atom) == "loop_it") {
            call.function = "stop/1";
            call.stops = true;
        }
        return call;
    }
    return std::nullopt;
}

/// " is waiting in timer:sleep/1", or what it waits for in the end: " waits for cart (<0.9.0>),
/// which is waiting in timer:sleep/1".
std::string wait_text(const HangEnd& end) {
    const auto& steps = end.chain.steps;
    if (end.chain.cycle) {
        return " waits in a cycle of processes that wait for each other";
    }
    const auto& process = steps.back().process;
    if (steps.size() == 1) {
        return process && process->current_function
                   ? fmt::format(" is {} in {}", process->status.value_or("stopped"),
                                 *process->current_function)
                   : std::string(" does not return");
    }
    return process ? fmt::format(" waits for {}{}", process_with_name(*process), place_of(*process))
                   : fmt::format(" waits for {}", steps.back().place.name);
}

/// The process that is to be looked at: the last of a chain, else the first.
const ProcessLine* culprit_of(const HangEnd& end) {
    const auto& steps = end.chain.steps;
    const auto& culprit = steps.back().process ? steps.back().process : steps.front().process;
    return culprit ? &*culprit : nullptr;
}

/// Where a child waits for something outside of the node while it starts: it may be so for a moment
/// in a node that is well.
constexpr std::array kOutside = {
    std::string_view("prim_inet:"),    std::string_view("prim_socket:"),
    std::string_view("socket:"),       std::string_view("gen_tcp"),
    std::string_view("inet"),          std::string_view("ssl"),
    std::string_view("tls_"),          std::string_view("httpc"),
    std::string_view("erl_ddll:"),     std::string_view("os:"),
    std::string_view("prim_file:"),    std::string_view("erts_internal:"),
    std::string_view("erl_prim_load"), std::string_view("code_server:")};

/// Whether what a supervisor waits for in the end is a process that waits for a message of which
/// the dump tells no sender: one that works, or has answered, is no finding.
bool does_not_go_on(const HangEnd& end) {
    const auto& last = end.chain.steps.back();
    return !end.chain.cycle && end.chain.steps.size() > 1 && last.edges.empty() && last.process &&
           last.process->status == "waiting" && last.process->current_function &&
           !is_in_loop(*last.process) &&
           std::ranges::none_of(kOutside, [&last](std::string_view module) {
               return last.process->current_function->starts_with(module);
           });
}

class StuckStarts {
  public:
    explicit StuckStarts(NodeFacts& facts) : facts_(facts) {}

    Result<RuleAnswer> look() {
        ASSIGN_OR_RETURN(const auto* scan, facts_.processes());
        for (const auto row : scan->applications.rows) {
            RETURN_IF_ERROR(look_at_application(row));
        }
        if (unknown_ != 0) {
            answer_.left_out =
                fmt::format("what is done by {} to start or stop an application is not in the dump",
                            counted(unknown_, "process that has", "processes that have"));
        }
        for (const auto row : scan->starting.rows) {
            RETURN_IF_ERROR(look_at_supervisor(row));
        }
        return std::move(answer_);
    }

  private:
    Result<void> look_at_application(std::uint64_t row) {
        ASSIGN_OR_RETURN(const auto line, facts_.line(row));
        if (answer_.findings.size() == kMostOfARule || !line.current_function ||
            line.current_function == "application_master:loop_it/4" || line.status == "exiting") {
            return {};
        }
        ASSIGN_OR_RETURN(const auto process, open_process(facts_.dump(), line.pid));
        ASSIGN_OR_RETURN(const auto* modules, loaded_modules());
        const auto call = application_call(facts_.dump(), *process, *modules);
        if (!call) {
            ++unknown_;
            return {};
        }
        ASSIGN_OR_RETURN(const auto end, facts_.hang_of(line.pid));
        Finding finding;
        const auto name = call->module ? application_of(*call->module) : std::nullopt;
        finding.sentence = fmt::format(
            "{} has not {}: {},{}.",
            name ? fmt::format("The application {}", *name) : std::string("An application"),
            call->stops ? "stopped" : "started",
            call->module
                ? fmt::format("{}:{}, which {} runs", atom_text(facts_.dump(), *call->module),
                              call->function, line.pid)
                : fmt::format("{}, which runs its {}", line.pid, call->function),
            wait_text(end));
        tell(std::move(finding), line, end);
        if (name) {
            answer_.findings.back().figures.push_back({"application", *name});
        }
        return {};
    }

    Result<void> look_at_supervisor(std::uint64_t row) {
        ASSIGN_OR_RETURN(const auto line, facts_.line(row));
        if (answer_.findings.size() == kMostOfARule || !line.translated_initial_call ||
            !line.translated_initial_call->starts_with("supervisor:")) {
            return {};
        }
        ASSIGN_OR_RETURN(const auto end, facts_.hang_of(line.pid));
        if (told_.contains(end.chain.steps.back().place) || !does_not_go_on(end)) {
            return {};
        }
        Finding finding;
        finding.sentence = fmt::format("{} has not finished the start of a child: it{}.",
                                       process_with_name(line), wait_text(end));
        tell(std::move(finding), line, end);
        return {};
    }

    void tell(Finding finding, const ProcessLine& line, const HangEnd& end) {
        const auto* const culprit = culprit_of(end);
        const auto& shown = culprit == nullptr ? line : *culprit;
        finding.command = end.chain.cycle ? facts_.command("waits")
                                          : facts_.command("backtrace", {pid_word(shown)});
        finding.figures = {{"starter", line.pid}, {"process", shown.pid}};
        told_.insert(end.chain.steps.back().place);
        answer_.findings.push_back(std::move(finding));
    }

    /// The atoms of modules that the dump knows. None: it has no code.
    Result<const std::set<std::uint32_t>*> loaded_modules() {
        if (!modules_) {
            ASSIGN_OR_RETURN(const auto* instances, facts_.dump().code().instances());
            modules_.emplace();
            for (const auto& instance : *instances) {
                modules_->insert(instance.name_atom);
            }
        }
        return &*modules_;
    }

    std::optional<std::string> application_of(std::uint32_t module) {
        if (!applications_) {
            auto read = module_applications(facts_.dump());
            applications_.emplace(read ? std::move(*read) : ModuleApplications{});
        }
        const auto* const application = applications_->of(module);
        return application == nullptr ? std::nullopt : std::optional(application->name);
    }

    NodeFacts& facts_;
    RuleAnswer answer_;
    std::set<WaitPlace> told_;  ///< for which something waits that was told
    std::uint64_t unknown_ = 0;
    std::optional<ModuleApplications> applications_;
    std::optional<std::set<std::uint32_t>> modules_;
};

}  // namespace

/// The start of an application takes long where something does not answer, and the node is not
/// ready meanwhile: it is told however long that has been. A supervisor that starts a child does
/// nothing else.
Result<RuleAnswer> stuck_start_rule(NodeFacts& facts) {
    return StuckStarts(facts).look();
}

namespace {

/// Fewer may want the same lock for a moment.
constexpr std::uint64_t kManyForALock = 20;

}  // namespace

Result<RuleAnswer> global_lock_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    const auto waiting = scan->locking.count;
    if (waiting < kManyForALock) {
        return answer;
    }
    ASSIGN_OR_RETURN(const auto* hang, facts.hang());
    for (const auto& lock : hang->locks) {
        if (lock.waiting < kManyForALock || answer.findings.size() == kMostOfARule) {
            continue;
        }
        Finding finding;
        std::string holder = lock.holder.name;
        std::string place;
        if (lock.holder.owner) {
            const auto row = facts.dump().find_process(lock.holder.name);
            if (row) {
                const auto line = named_line(facts.dump(), *row);
                holder = process_with_name(line);
                place = place_of(line);
            }
        }
        finding.sentence = fmt::format("{}{} processes wait for the {} of {}{}.",
                                       scan->locking.all() ? "" : "At least ",
                                       count_text(lock.waiting), lock.lock.name, holder, place);
        finding.command = facts.command("hang");
        finding.figures = {
            {"processes", lock.waiting}, {"lock", lock.lock.name}, {"process", lock.holder.name}};
        answer.findings.push_back(std::move(finding));
    }
    if (answer.findings.empty()) {
        Finding finding;
        finding.sentence = fmt::format(
            "{} processes wait for locks of the module global which others have; the dump does not "
            "tell who.",
            count_text(waiting));
        finding.command = facts.command("hang");
        finding.figures = {{"processes", waiting}};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

/// Mnesia answers at once for a table that it has loaded.
Result<RuleAnswer> mnesia_tables_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    if (scan->loading.count == 0) {
        return answer;
    }
    ASSIGN_OR_RETURN(const auto line, facts.line(scan->loading.rows.front()));
    ASSIGN_OR_RETURN(const auto process, open_process(facts.dump(), line.pid));
    FrameCursor frames(process->context(), process->scheme, process->stack());
    std::string tables;
    if (const auto frame = frames.next()) {
        const auto list = std::ranges::find_if(frame->registers, [&](const FrameRegister& y) {
            return !y.is_catch && word_kind(process->scheme, y.word) == WordKind::kList;
        });
        if (list != frame->registers.end()) {
            constexpr std::size_t kLongestList = 200;
            TermPrinter printer(process->context(), process->scheme);
            const auto text = term_text(printer, list->word, kLongestList);
            tables = fmt::format(" of {}{}", text.text, text.cut ? "..." : "");
        }
    }
    Finding finding;
    finding.sentence = fmt::format("{} until Mnesia has loaded tables: {} waits for some{}.",
                                   counted(scan->loading.count, "process waits", "processes wait"),
                                   process_with_name(line),
                                   tables.empty() ? " that the dump does not tell" : tables);
    finding.command = facts.command("backtrace", {pid_word(line)});
    finding.figures = {{"processes", scan->loading.count}, {"process", line.pid}};
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
