#include "query/activity/schedulers.h"
#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/findings/unread_log.h"
#include "query/process/backtrace.h"
#include "query/process/message_senders.h"
#include "query/process/messages.h"
#include "query/process/opened_process.h"
#include "query/process/process_names.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>
#include <libdump/term/frame_cursor.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// Rules about what waits for processes: callers, and messages that are not read.

namespace beamdump::query {

namespace {

/// Processes may hold each other's monitors for long, and wait for other things.
bool has_caller(const WaitCycle& cycle) {
    return std::ranges::any_of(cycle.processes, is_in_call);
}

/// Processes that may be in a cycle: one that calls the process which started it, and waits until
/// it is ready, is in one of two.
std::uint64_t in_calls_or_starts(const ProcessScan& scan) {
    return scan.in_call.count == 0 ? 0 : scan.in_call.count + scan.starting.count;
}

}  // namespace

/// Processes that wait for each other wait until their calls time out: a cycle of any length is
/// told.
Result<RuleAnswer> call_cycle_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    if (!facts.full() && in_calls_or_starts(*scan) < 2) {
        return answer;
    }
    answer.left_out = facts.callers_left_out();
    answer.left_to_full = answer.left_out.has_value();
    ASSIGN_OR_RETURN(const auto* waits, facts.waits());
    for (const auto& cycle : waits->cycles) {
        if (answer.findings.size() == kMostOfARule) {
            break;
        }
        if (!facts.full() && !has_caller(cycle)) {
            continue;
        }
        constexpr std::size_t kNamed = 4;
        const auto& processes = cycle.processes;
        std::string names;
        for (std::size_t i = 0; i < processes.size() && i < kNamed; ++i) {
            names += (i == 0 ? "" : ", ") + process_with_name(processes[i]);
        }
        Finding finding;
        finding.sentence = fmt::format(
            "{} in a cycle of calls for each other: {}{}{}.",
            counted(processes.size(), "process waits", "processes wait"), names,
            processes.size() > kNamed ? " and others" : "",
            cycle.behind == 0 ? std::string()
                              : fmt::format("; {} behind them",
                                            counted(cycle.behind, "caller waits", "callers wait")));
        finding.command = facts.command("waits");
        finding.figures = {{"processes", processes.size()},
                           {"process", processes.front().pid},
                           {"callers", cycle.behind}};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

namespace {

/// Fewer wait for a moment in any pool of workers under load.
constexpr std::uint64_t kManyBehindOne = 20;
/// Where no process has so many behind it: far more than the workers of some pools.
constexpr std::uint64_t kManyInCalls = 200;

/// Whether those that wait for a process have asked it. Of those in a call that is so; others may
/// hold its monitor while they wait for something else: then their requests are not in its queue.
bool was_asked(const WaitedFor& target, std::uint64_t in_calls) {
    return target.behind <= in_calls ||
           (target.process &&
            target.process->message_queue_length.value_or(0) >= target.direct / 2);
}

}  // namespace

namespace {

/// Modules that call the code of a process, of which a stack has a frame below that code.
constexpr auto kCallingModules = std::to_array<std::string_view>(
    {"gen_server", "gen_statem", "gen_event", "gen_fsm", "proc_lib"});
/// A stack that recursion has made deeper is not read to its end.
constexpr std::size_t kMostFramesOfAServer = 10'000;

/// " (shop.erl, line 42)"; empty where the dump does not have it.
std::string line_text(const FrameLine& frame) {
    if (!frame.file || !frame.line) {
        return "";
    }
    const std::string_view file = *frame.file;
    return fmt::format(" ({}, line {})", file.substr(file.rfind('/') + 1), *frame.line);
}

/// ", for shop:handle_call/3 (shop.erl, line 42)": the function that a behaviour has called, of
/// which the current one is a part; of that function itself its line alone. Empty where a process
/// is in no such call, or the dump does not tell.
Result<std::string> work_of(NodeFacts& facts, const ProcessLine& line) {
    if (!facts.options().terms) {
        return "";
    }
    ASSIGN_OR_RETURN(const auto process, open_process(facts.dump(), line.pid));
    if (terms_withheld(process->run, facts.options().sensitive) != Withheld::kNo) {
        return "";
    }
    FrameCursor frames(process->context(), process->scheme, process->stack());
    std::optional<FrameLine> called;
    for (std::size_t count = 0; count < kMostFramesOfAServer; ++count) {
        const auto frame = frames.next();
        if (!frame || frame->cut_short || !frame->location || !frame->location->function) {
            return "";
        }
        const auto module = atom_text(facts.dump(), frame->location->function->module_atom);
        if (std::ranges::find(kCallingModules, module) != kCallingModules.end()) {
            break;
        }
        called.emplace().index = frame->index;
        name_frame(facts.dump(), *frame, *called);
    }
    if (!called || !called->function) {
        return "";
    }
    return called->index == 0 ? line_text(*called)
                              : fmt::format(", for {}{}", *called->function, line_text(*called));
}

}  // namespace

/// The last of a chain of processes that wait for each other is told, which waits for none; a cycle
/// is another rule's.
Result<RuleAnswer> waiting_callers_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    const std::uint64_t callers = scan->in_call.count;
    if (!facts.full() && callers < kManyBehindOne && scan->crowd.count == 0) {
        return answer;
    }
    answer.left_out = facts.callers_left_out();
    answer.left_to_full = answer.left_out.has_value();
    ASSIGN_OR_RETURN(const auto* waits, facts.waits());
    for (const auto& target : waits->waited_for) {
        if (target.behind < kManyBehindOne || answer.findings.size() == kMostOfARule) {
            break;
        }
        if (target.in_cycle || target.waits_for || !was_asked(target, callers)) {
            continue;
        }
        std::string place;
        if (target.process) {
            ASSIGN_OR_RETURN(const auto work, work_of(facts, *target.process));
            place = place_of(*target.process) + work;
        }
        Finding finding;
        finding.sentence =
            fmt::format("{}{} callers wait for {}{}.", answer.left_out ? "At least " : "",
                        count_text(target.behind),
                        target.process ? process_with_name(*target.process) : target.name, place);
        finding.command = target.process ? facts.command("backtrace", {pid_word(*target.process)})
                                         : facts.command("waits");
        finding.figures = {{"callers", target.behind}, {"process", target.name}};
        answer.findings.push_back(std::move(finding));
    }
    if (answer.findings.empty() && waits->cycles.empty() && callers >= kManyInCalls) {
        Finding finding;
        finding.sentence =
            fmt::format("{} processes wait in a call for others.", count_text(callers));
        finding.command = facts.command("waits");
        finding.figures = {{"callers", callers}};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

namespace {

/// Processes of kernel that many others need, and what waits where one of them is slow.
struct SystemProcess {
    std::string_view name;
    std::string_view what;
};
constexpr std::array kSystemProcesses = {
    SystemProcess{"file_server_2", "opening and listing files"},
    SystemProcess{"code_server", "loading code"},
    SystemProcess{"application_controller", "starting and stopping applications"},
    SystemProcess{"global_name_server", "global names and locks"},
    SystemProcess{"inet_db", "looking up host names"},
    SystemProcess{"erl_prim_loader", "loading code from files"},
    SystemProcess{"init", "starting and stopping the node"}};

/// These answer in less than a ms, or a few ms with a slow disk.
constexpr std::uint64_t kManyMessages = 20;
/// Where it works, or waits for a processor to do so: a supervisor that starts a process for each
/// request of a server under load has some 30 unread at a moment.
constexpr std::uint64_t kManyMessagesAtWork = 200;

bool has_many_messages(const ProcessLine& line) {
    const bool at_work = line.status == "running" || line.status == "runnable" ||
                         line.status == "garbage_collecting";
    return line.message_queue_length.value_or(0) >= (at_work ? kManyMessagesAtWork : kManyMessages);
}

bool is_supervisor(const ProcessLine& line) {
    return line.translated_initial_call && line.translated_initial_call->starts_with("supervisor:");
}

Finding finding_of(NodeFacts& facts, const ProcessLine& line, std::string_view what) {
    Finding finding;
    const auto messages = line.message_queue_length.value_or(0);
    finding.sentence =
        fmt::format("{} messages are unread in {}{}: {} waits.", count_text(messages),
                    process_with_name(line), place_of(line), what);
    finding.command = facts.command("backtrace", {pid_word(line)});
    finding.figures = {{"messages", messages}, {"process", line.pid}};
    return finding;
}

}  // namespace

/// Processes of the system that do not keep up, or are stuck.
Result<RuleAnswer> system_process_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    for (const auto& process : kSystemProcesses) {
        const auto row = facts.dump().find_process(process.name);
        if (!row && row.error().code == ErrorCode::kNotFound) {
            continue;
        }
        RETURN_IF_ERROR(row);
        const auto line = named_line(facts.dump(), *row);
        if (has_many_messages(line)) {
            answer.findings.push_back(finding_of(facts, line, process.what));
        }
    }
    for (const auto& [messages, row] : scan->longest) {
        if (messages < kManyMessages || answer.findings.size() >= kMostOfARule) {
            break;
        }
        ASSIGN_OR_RETURN(const auto line, facts.line(row));
        const bool told = std::ranges::find(kSystemProcesses, line.registered_name.value_or(""),
                                            &SystemProcess::name) != kSystemProcesses.end();
        if (is_supervisor(line) && !told && has_many_messages(line)) {
            answer.findings.push_back(
                finding_of(facts, line, "starting and restarting its children"));
        }
    }
    return answer;
}

namespace {

/// A server takes this many in some 10 ms; a longer queue is more than a burst. Applications that
/// bound their queues do so far below: RabbitMQ's credit is 400 messages.
constexpr std::uint64_t kLongMailbox = 10'000;

/// ", 98% of them {order,_,_}, 75% from <0.9.0>": what most messages are, where it is a half.
Result<std::string> most_of_them(NodeFacts& facts, const ProcessLine& line,
                                 std::vector<Figure>& figures) {
    MessagesOptions options;
    options.sensitive = facts.options().sensitive;
    ASSIGN_OR_RETURN(const auto listing,
                     MessageListing::open(facts.dump(), facts.file(), line.pid, options));
    if (listing->withheld() != Withheld::kNo) {
        return std::string();
    }
    std::string text;
    const auto add = [&](std::string_view what, const std::string& name, std::uint64_t count,
                         std::uint64_t of, std::string_view figure) {
        constexpr std::uint64_t kMost = 50;
        if (percent_of(count, of) >= kMost) {
            text += fmt::format("{} {}% of them {}{}", text.empty() ? ";" : ",",
                                percent_of(count, of), what, name);
            figures.push_back({figure, name});
        }
    };
    ASSIGN_OR_RETURN(const auto shapes, listing->histogram());
    if (!shapes.shapes.empty()) {
        const auto& most = shapes.shapes.front();
        add("", most.shape, most.count, shapes.messages, "shape");
    }
    ASSIGN_OR_RETURN(const auto senders, listing->senders());
    if (!senders.senders.empty()) {
        const auto& most = senders.senders.front();
        add("from ", most.name, most.count, senders.messages, "sender");
    }
    return text;
}

}  // namespace

Result<RuleAnswer> mailbox_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    for (const auto& [messages, row] : scan->longest) {
        if (messages < kLongMailbox || answer.findings.size() == kMostOfARule) {
            break;
        }
        ASSIGN_OR_RETURN(const auto line, facts.line(row));
        Finding finding;
        finding.figures = {{"messages", messages}, {"process", line.pid}};
        std::string more;
        if (facts.full()) {
            ASSIGN_OR_RETURN(more, most_of_them(facts, line, finding.figures));
        }
        finding.sentence = fmt::format("A mailbox of {} messages in {}{}{}.", count_text(messages),
                                       process_with_name(line), place_of(line), more);
        finding.command = facts.command("messages", {pid_word(line)});
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

namespace {

/// Whether a process was captured while nothing ran: what its structure says is of one moment.
Result<bool> of_one_moment(Dump& dump, std::uint32_t epoch) {
    for (const auto offset : dump.trailer().epoch_offset()) {
        ASSIGN_OR_RETURN(const auto entry, dump.reader().message_at<records::Epoch>(
                                               offset, format::RecordKind::kEpoch));
        if (entry.number() == epoch) {
            return entry.source() == records::MEMORY_SOURCE_STOPPED ||
                   entry.source() == records::MEMORY_SOURCE_TWIN;
        }
    }
    return false;
}

}  // namespace

/// A message makes a hibernating process runnable, so that one which waits with messages was not
/// woken. The flag that it hibernates does not tell: it stays until the next collection
/// (erl_process.c and erl_gc.c, OTP 25.2.3 to 29.1.1). Where it is in its code does. A sender that
/// was stopped between queueing its message and waking the process is none: each scheduler that is
/// awake may be such a one. Of a process that was read while the node ran nothing is said, as
/// messages and state are of two moments.
Result<RuleAnswer> asleep_with_messages_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    if (!form_of(facts.dump()).scheduling_states || scan->asleep.rows.empty()) {
        return answer;
    }
    ASSIGN_OR_RETURN(const auto schedulers, scheduler_lines(facts.dump()));
    const auto awake =
        static_cast<std::uint64_t>(std::ranges::count_if(schedulers, [](const auto& line) {
            return line.scheduler && line.state != "sleeping" && line.state != "suspended";
        }));
    for (const auto row : scan->asleep.rows) {
        if (answer.findings.size() == kMostOfARule) {
            break;
        }
        ASSIGN_OR_RETURN(const auto line, facts.line(row));
        const auto messages = line.message_queue_length.value_or(0);
        if (line.void_reason || messages <= awake) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto process, open_process(facts.dump(), line.pid));
        ASSIGN_OR_RETURN(const bool still,
                         of_one_moment(facts.dump(), process->run.process.epoch()));
        if (!still) {
            continue;
        }
        Finding finding;
        finding.sentence = fmt::format(
            "{} hibernates with {} in its queue, and is not about to run: it was not woken.",
            process_with_name(line), counted(messages, "message"));
        finding.command = facts.command("messages", {pid_word(line)});
        finding.figures = {{"messages", messages}, {"process", line.pid}};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

/// Log events that nobody has read often say why a node ended.
Result<RuleAnswer> unread_log_rule(NodeFacts& facts) {
    RuleAnswer answer;
    ASSIGN_OR_RETURN(const auto logs, unread_logs(facts));
    for (const auto& log : logs) {
        Finding finding;
        finding.sentence =
            fmt::format("{} {} unread in {}{}.", counted(log.messages, "message"),
                        log.messages == 1 ? "is" : "are", process_with_name(log.line),
                        log.first.empty() ? "" : fmt::format(", the first: {}", log.first));
        finding.command = facts.command("messages", {log.name});
        finding.figures = {{"messages", log.messages}, {"process", log.line.pid}};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
