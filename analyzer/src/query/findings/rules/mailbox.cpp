#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/process/message_senders.h"
#include "query/process/messages.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

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
        finding.values = {"pid", "message_queue_len", "registered_name"};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
