#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/process/messages.h"
#include "query/process/process_names.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>

#include <fmt/format.h>

#include <array>
#include <string>

namespace beamdump::query {

namespace {

/// That log events go through (kernel: logger_server.erl, logger_proxy.erl; error_logger before
/// OTP 21; init, for what is written before the logger has started).
constexpr std::array kLoggers = {std::string_view("logger_proxy"), std::string_view("logger"),
                                 std::string_view("error_logger"),
                                 std::string_view("logger_std_h_default")};

/// A node that logs in a burst has some for a moment; one that has ended will read none of them.
constexpr std::uint64_t kManyOfRunningNode = 1000;
constexpr std::size_t kShownBytes = 240;

/// The text of the first message; empty where it is not shown.
Result<std::string> first_message(NodeFacts& facts, const ProcessLine& line) {
    MessagesOptions options;
    options.limit = 1;
    options.term_bytes = kShownBytes;
    options.histogram = false;
    options.sensitive = facts.options().sensitive;
    ASSIGN_OR_RETURN(const auto listing,
                     MessageListing::open(facts.dump(), facts.file(), line.pid, options));
    if (!facts.options().terms || listing->withheld() != Withheld::kNo) {
        return std::string();
    }
    ASSIGN_OR_RETURN(const auto message, listing->next());
    if (!message) {
        return std::string();
    }
    return message->term.text + (message->term.cut ? "..." : "");
}

}  // namespace

/// Log events that nobody has read often say why a node ended.
Result<RuleAnswer> unread_log_rule(NodeFacts& facts) {
    RuleAnswer answer;
    const std::uint64_t many = is_of_crash_dump(facts.dump()) ? 1 : kManyOfRunningNode;
    for (const auto name : kLoggers) {
        const auto row = facts.dump().find_process(name);
        if (!row && row.error().code == ErrorCode::kNotFound) {
            continue;
        }
        RETURN_IF_ERROR(row);
        const auto line = named_line(facts.dump(), *row);
        const auto messages = line.message_queue_length.value_or(0);
        if (messages < many) {
            continue;
        }
        Finding finding;
        ASSIGN_OR_RETURN(const auto first, first_message(facts, line));
        finding.sentence = fmt::format("{} {} unread in {}{}.", counted(messages, "message"),
                                       messages == 1 ? "is" : "are", process_with_name(line),
                                       first.empty() ? "" : fmt::format(", the first: {}", first));
        finding.command = facts.command("messages", {std::string(name)});
        finding.figures = {{"messages", messages}, {"process", line.pid}};
        finding.values = {"pid", "message_queue_len", "registered_name"};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
