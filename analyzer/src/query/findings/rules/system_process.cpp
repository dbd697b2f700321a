#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/process/process_names.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace beamdump::query {

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
    finding.values = {"pid", "message_queue_len", "current_function", "registered_name"};
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
        if (line.message_queue_length.value_or(0) >= kManyMessages) {
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
        if (is_supervisor(line) && !told) {
            answer.findings.push_back(
                finding_of(facts, line, "starting and restarting its children"));
        }
    }
    return answer;
}

}  // namespace beamdump::query
