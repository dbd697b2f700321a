#include "query/activity/emulator.h"

#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/process/opened_process.h"
#include "query/tables/resource_types.h"
#include "query/waits/hang.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/format/unpaused_run.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// Rules about the emulator's own state, and about what it keeps for processes and tables.

namespace beamdump::query {

namespace {

/// A scheduler returns to its loop after a millisecond of native code at most (erl_nif(3)), and
/// after some of Erlang code.
constexpr std::uint64_t kLongHeldUpUs = 100'000;

bool is_long(const ProgressLine& line) {
    return line.held_up_for_us.value_or(0) >= kLongHeldUpUs;
}

/// How many processes wait for thread progress since this scheduler holds it up.
std::uint64_t waiting_behind(const Hang& hang, std::uint64_t scheduler) {
    const auto found = std::ranges::find(hang.held_up, fmt::format("scheduler {}", scheduler),
                                         &std::pair<std::string, std::uint64_t>::first);
    return found == hang.held_up.end() ? 0 : found->second;
}

std::string with_function(const ProcessLine& line) {
    return line.current_function
               ? fmt::format("{} in {}", process_with_name(line), *line.current_function)
               : process_with_name(line);
}

Result<void> tell_held_up(NodeFacts& facts, const EmulatorReport& emulator, RuleAnswer& answer) {
    for (const auto& line : emulator.progress) {
        if (!is_long(line) || line.off_heap_circle || answer.findings.size() == kMostOfARule) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto* hang, facts.hang());
        const auto waiting = waiting_behind(*hang, line.scheduler);
        if (waiting == 0) {
            continue;
        }
        constexpr std::uint64_t kMillisecond = 1000;
        Finding finding;
        finding.sentence = fmt::format(
            "{} for thread progress (code loading, persistent_term:put, purges), which scheduler "
            "{} has held up for at least {} ms: it runs {}.",
            counted(waiting, "process waits", "processes wait"), line.scheduler,
            count_text(line.held_up_for_us.value_or(0) / kMillisecond),
            line.process ? with_function(*line.process) : line.port.value_or("no process"));
        finding.command = facts.command("hang");
        finding.figures = {{"processes", waiting}, {"scheduler", line.scheduler}};
        if (line.process) {
            finding.figures.push_back({"process", line.process->pid});
        }
        answer.findings.push_back(std::move(finding));
    }
    return {};
}

/// A scheduler that walks a list that has no end.
void tell_endless(NodeFacts& facts, const EmulatorReport& emulator, RuleAnswer& answer) {
    for (const auto& line : emulator.progress) {
        if (!line.off_heap_circle || answer.findings.size() == kMostOfARule) {
            continue;
        }
        const auto pid =
            line.process ? line.process->pid : line.frees.value_or("a process that has ended");
        Finding finding;
        finding.sentence = fmt::format(
            "Scheduler {} is lost: it frees {}, whose list of off-heap objects leads back into "
            "itself, and walks it for ever; code loading, purges and persistent_term:put wait for "
            "it, and so does what is in its run queue.",
            line.scheduler, pid);
        finding.command = facts.command("emulator");
        finding.figures = {{"scheduler", line.scheduler}, {"process", pid}};
        answer.findings.push_back(std::move(finding));
    }
}

/// Fewer wait for a moment where several processes load code or put terms.
constexpr std::uint64_t kManyWaiters = 10;

/// Where thread progress is held up, that is the cause, and is told.
void tell_permissions(NodeFacts& facts, const EmulatorReport& emulator, RuleAnswer& answer) {
    if (std::ranges::any_of(emulator.progress, is_long)) {
        return;
    }
    for (const auto& permission : emulator.permissions) {
        if (!permission.held || permission.waiters < kManyWaiters) {
            continue;
        }
        std::string holder = "a holder that the release does not store";
        if (permission.holder) {
            holder = process_with_name(*permission.holder) + place_of(*permission.holder);
        } else if (permission.may_hold.size() == 1) {
            holder = "perhaps " + with_function(permission.may_hold.front());
        } else if (permission.holder_stored) {
            holder = "a job of the VM";
        }
        Finding finding;
        finding.sentence = fmt::format("{} wait for the permission {}, which is held by {}.",
                                       count_text(permission.waiters), permission.name, holder);
        finding.command = facts.command("emulator");
        finding.figures = {{"processes", permission.waiters}, {"permission", permission.name}};
        if (permission.holder) {
            finding.figures.push_back({"process", permission.holder->pid});
        }
        answer.findings.push_back(std::move(finding));
    }
}

/// Whether a process that has to do a task does nothing else for long: it is what a scheduler runs
/// that holds up thread progress, or the capture saw no pause of it.
Result<bool> does_not_return(NodeFacts& facts, const EmulatorReport& emulator,
                             const ProcessLine& line) {
    if (line.status != "running") {
        return false;
    }
    if (std::ranges::any_of(emulator.progress, [&line](const ProgressLine& progress) {
            return is_long(progress) && progress.process && progress.process->pid == line.pid;
        })) {
        return true;
    }
    ASSIGN_OR_RETURN(const auto process, open_process(facts.dump(), line.pid));
    return process->run.end.detail().starts_with(format::kUnpausedRun);
}

/// Each process answers by itself, as soon as it is scheduled, also one that waits.
Result<void> tell_unanswered(NodeFacts& facts, const EmulatorReport& emulator, RuleAnswer& answer) {
    std::uint64_t told = 0;
    for (const auto& tasked : emulator.tasked) {
        if (told == kMostOfARule || !tasked.tasks) {
            continue;
        }
        const auto check = std::ranges::find_if(*tasked.tasks, [](const SystemTaskLine& task) {
            return task.module && task.requester;
        });
        if (check == tasked.tasks->end()) {
            continue;
        }
        ASSIGN_OR_RETURN(const bool stuck, does_not_return(facts, emulator, tasked.process));
        if (!stuck) {
            continue;
        }
        Finding finding;
        finding.sentence = fmt::format(
            "A purge of {} does not go on: {} has asked {} whether it uses the old code, and that "
            "one runs without a pause and does not answer.",
            check->module.value_or(""), facts.named(check->requester.value_or("")),
            with_function(tasked.process));
        finding.command = facts.command("hang", {check->requester.value_or("")});
        finding.figures = {{"process", tasked.process.pid},
                           {"module", check->module.value_or("")},
                           {"requester", check->requester.value_or("")}};
        answer.findings.push_back(std::move(finding));
        ++told;
    }
    return {};
}

}  // namespace

/// What the emulator itself waits for: thread progress, holders of permissions, answers to a purge.
Result<RuleAnswer> emulator_waits_rule(NodeFacts& facts) {
    if (facts.dump().trailer().emulator_offset_size() == 0) {
        return not_in_dump(facts.dump(), "state of the emulator");
    }
    ASSIGN_OR_RETURN(const auto* emulator, facts.emulator());
    RuleAnswer answer;
    tell_endless(facts, *emulator, answer);
    RETURN_IF_ERROR(tell_held_up(facts, *emulator, answer));
    tell_permissions(facts, *emulator, answer);
    RETURN_IF_ERROR(tell_unanswered(facts, *emulator, answer));
    return answer;
}

namespace {

/// Fewer come within a moment, for which tools for debugging suspend processes.
constexpr std::uint64_t kManyUnread = 100;

}  // namespace

Result<RuleAnswer> suspended_process_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* emulator, facts.emulator());
    RuleAnswer answer;
    for (const auto& line : emulator->suspended) {
        const auto by =
            std::ranges::find(line.reasons, SuspensionKind::kProcess, &Suspension::kind);
        const auto messages = line.process.message_queue_length.value_or(0);
        if (by == line.reasons.end() || messages < kManyUnread ||
            answer.findings.size() == kMostOfARule) {
            continue;
        }
        Finding finding;
        finding.sentence = fmt::format(
            "{} messages are unread in {}: it is suspended by {}, and goes on only when that one "
            "resumes it or exits.",
            count_text(messages), process_with_name(line.process), facts.named(by->what));
        finding.command = facts.command("hang", {pid_word(line.process)});
        finding.figures = {
            {"messages", messages}, {"process", line.process.pid}, {"suspender", by->what}};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

namespace {

/// A table is fixed for as long as it is walked through: some seconds for millions of rows.
constexpr std::int64_t kLongFixedUs = 300'000'000;

}  // namespace

Result<RuleAnswer> fixed_table_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* tables, facts.tables());
    const auto captured = dump_facts(facts.dump(), facts.file()).captured_us;
    if (!captured || facts.dump().capture().mode() == records::CAPTURE_MODE_CORE) {
        return fail(ErrorCode::kNotFound,
                    "the dump does not tell when the node was as it shows it");
    }
    RuleAnswer answer;
    for (const auto& table : *tables) {
        const auto since = static_cast<std::int64_t>(table.fixed_since_us.value_or(0));
        if (since == 0 || *captured - since < kLongFixedUs ||
            answer.findings.size() == kMostOfARule) {
            continue;
        }
        constexpr std::int64_t kMinute = 60'000'000;
        const auto minutes = static_cast<std::uint64_t>((*captured - since) / kMinute);
        const auto name = table.name.value_or("?");
        Finding finding;
        finding.sentence = fmt::format(
            "The table {} has been fixed for {} by {}: the rows that are deleted from "
            "it meanwhile keep their memory.",
            name, counted(minutes, "minute"), table.fixed_by.value_or("?"));
        finding.command = facts.command("ets");
        finding.figures = {{"table", name}, {"minutes", minutes}};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

namespace {

/// The largest of healthy nodes are supervisors and servers of some ten thousand connections.
constexpr std::uint64_t kManyRelations = 50'000;

struct RelationColumn {
    records::ProcessColumnKind column;
    std::string_view before, after;  ///< the count
    bool of_supervisors = true;
};
/// A supervisor is linked to each of its children.
constexpr std::array kRelationColumns = {
    RelationColumn{records::PROCESS_COLUMN_LINKED, "is linked to", "others", false},
    RelationColumn{records::PROCESS_COLUMN_MONITORED, "has", "monitors on others"},
    RelationColumn{records::PROCESS_COLUMN_MONITORED_BY, "is monitored", "times by others"}};

}  // namespace

Result<RuleAnswer> many_relations_rule(NodeFacts& facts) {
    RuleAnswer answer;
    bool told = false;
    for (const auto& relation : kRelationColumns) {
        std::uint64_t most = 0;
        std::optional<std::uint64_t> of;
        RETURN_IF_ERROR(facts.dump().processes().visit(
            std::array{relation.column}, [&](std::uint64_t row, ProcessIndex::Values values) {
                told = told || values[0].has_value();
                if (values[0].value_or(0) > most) {
                    most = *values[0];
                    of = row;
                }
                return true;
            }));
        if (!of || most < kManyRelations) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto line, facts.line(*of));
        if (!relation.of_supervisors &&
            line.translated_initial_call.value_or("").starts_with("supervisor:")) {
            continue;
        }
        Finding finding;
        finding.sentence =
            fmt::format("{} {} {} {}: each takes memory, and is a signal when one of both exits.",
                        process_with_name(line), relation.before, count_text(most), relation.after);
        finding.command = facts.command("process", {pid_word(line)});
        finding.figures = {{"count", most}, {"process", line.pid}};
        answer.findings.push_back(std::move(finding));
    }
    return told ? Result<RuleAnswer>(std::move(answer))
                : fail(ErrorCode::kNotFound, "the dump does not count links and monitors");
}

namespace {

/// A connection has a socket, and with TLS some contexts of crypto: a few resources of a type for
/// each process. docs/emulator.md has what applications at rest have.
constexpr std::uint64_t kManyResources = 50'000;
constexpr std::uint64_t kManyForEachProcess = 10;

}  // namespace

/// Memory that a resource's library took for it is no memory of the node's own counts.
Result<RuleAnswer> many_resources_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto types, resource_types(facts.dump()));
    if (types.empty()) {
        return not_in_dump(facts.dump(), "types of NIF resources");
    }
    const auto processes = facts.dump().processes().size();
    std::uint64_t all = 0;
    for (const auto& type : types) {
        all += type.living();
    }
    RuleAnswer answer;
    for (const auto& type : types) {
        if (type.living() < kManyResources || type.living() / kManyForEachProcess < processes) {
            continue;
        }
        const auto name = resource_type_name(facts.dump(), type);
        Finding finding;
        finding.sentence = fmt::format(
            "{} NIF resources of the type {} live, of {} of all types, in a node of {}: each keeps "
            "what its library took for it.",
            count_text(type.living()), name, count_text(all),
            counted(processes, "process", "processes"));
        finding.command = facts.command("resources", {name});
        finding.figures = {{"living", type.living()}, {"type", name}};
        answer.findings.push_back(std::move(finding));
        if (answer.findings.size() == kMostOfARule) {
            break;
        }
    }
    return answer;
}

namespace {

/// Tools for debugging trace some processes for a moment; a trace of all is one that was left on,
/// or a profile.
constexpr std::uint64_t kManyTraced = 100;

/// "by <0.9.0> tracer", if the dump tells it.
Result<std::string> traced_by(NodeFacts& facts, std::uint64_t row) {
    ASSIGN_OR_RETURN(const auto rows, facts.dump().processes().rows(std::array{row}));
    ASSIGN_OR_RETURN(const auto run, ProcessRun::load(facts.dump().reader(), rows.front()));
    if (run.process.tracing().empty() || !run.process.tracing(0).tracer().has_owner_id()) {
        return std::string();
    }
    return " by " + facts.named(pid_text(run.process.tracing(0).tracer().owner_id()));
}

}  // namespace

Result<RuleAnswer> traced_rule(NodeFacts& facts) {
    std::uint64_t traced = 0;
    std::uint64_t flags = 0;
    std::optional<std::uint64_t> first;
    bool told = false;
    RETURN_IF_ERROR(facts.dump().processes().visit(
        std::array{records::PROCESS_COLUMN_TRACE_FLAGS},
        [&](std::uint64_t row, ProcessIndex::Values values) {
            told = told || values[0].has_value();
            if (const auto set = values[0].value_or(0) & ~kSensitiveTraceFlag; set != 0) {
                ++traced;
                flags |= set;
                first = first.value_or(row);
            }
            return true;
        }));
    if (!told) {
        return fail(ErrorCode::kNotFound, "the dump does not tell which processes are traced");
    }
    RuleAnswer answer;
    const auto all = facts.dump().processes().size();
    if (traced < kManyTraced || traced < all / 2) {
        return answer;
    }
    ASSIGN_OR_RETURN(const auto by, traced_by(facts, *first));
    Finding finding;
    finding.sentence =
        fmt::format("{} of {} are traced{} ({}): they take time and send a message for each event.",
                    count_text(traced), counted(all, "process", "processes"), by,
                    flag_text(facts.dump(), FlagWord::kTrace, flags));
    finding.command = facts.command("emulator");
    finding.figures = {{"traced", traced}, {"processes", all}};
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
