#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/redaction.h>

#include <fmt/format.h>

namespace beamdump::query {

/// A message makes a hibernating process runnable, so that one which waits with messages was not
/// woken. The flag that it hibernates does not tell: it stays until the next collection
/// (erl_process.c and erl_gc.c, OTP 25.2.3 to 29.1.1). Where it is in its code does.
Result<RuleAnswer> asleep_with_messages_rule(NodeFacts& facts) {
    if (is_of_crash_dump(facts.dump())) {
        return fail(ErrorCode::kNotFound,
                    "messages that were on their way when a node crashed are in the queues of its "
                    "crash dump");
    }
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    for (const auto row : scan->asleep.rows) {
        if (answer.findings.size() == kMostOfARule) {
            break;
        }
        ASSIGN_OR_RETURN(const auto line, facts.line(row));
        if (line.void_reason || !line.message_queue_length) {
            continue;
        }
        const auto messages = *line.message_queue_length;
        Finding finding;
        finding.sentence = fmt::format(
            "{} hibernates with {} in its queue, and is not about to run: it was not "
            "woken.",
            process_with_name(line), counted(messages, "message"));
        finding.command = facts.command("messages", {pid_word(line)});
        finding.figures = {{"messages", messages}, {"process", line.pid}};
        finding.values = {"pid", "message_queue_len", "status", "current_function",
                          "registered_name"};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
