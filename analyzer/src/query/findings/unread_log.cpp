#include "query/findings/unread_log.h"

#include "query/process/messages.h"
#include "query/process/process_names.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>

#include <array>
#include <string_view>
#include <utility>

namespace beamdump::query {

namespace {

/// That log events go through (kernel: logger_server.erl, logger_proxy.erl; error_logger before
/// OTP 21; init, for what is written before the logger has started).
constexpr std::array kLoggers = {
    std::string_view("logger_proxy"), std::string_view("logger"), std::string_view("error_logger"),
    std::string_view("logger_std_h_default"), std::string_view("logger_simple_h")};

/// A node that logs in a burst has some for a moment; one that has ended will read none of them.
constexpr std::uint64_t kManyOfRunningNode = 1000;
constexpr std::size_t kFirstBytes = 240;

/// The text of the first message; empty where it is not shown.
Result<std::string> first_message(NodeFacts& facts, const ProcessLine& line) {
    MessagesOptions options;
    options.limit = 1;
    options.term_bytes = kFirstBytes;
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

Result<std::vector<UnreadLog>> unread_logs(NodeFacts& facts) {
    std::vector<UnreadLog> logs;
    const std::uint64_t many = is_of_crash_dump(facts.dump()) ? 1 : kManyOfRunningNode;
    for (const auto name : kLoggers) {
        const auto row = facts.dump().find_process(name);
        if (!row && row.error().code == ErrorCode::kNotFound) {
            continue;
        }
        RETURN_IF_ERROR(row);
        UnreadLog log{.name = std::string(name),
                      .line = named_line(facts.dump(), *row),
                      .messages = 0,
                      .first = {}};
        log.messages = log.line.message_queue_length.value_or(0);
        if (log.messages >= many) {
            ASSIGN_OR_RETURN(log.first, first_message(facts, log.line));
            logs.push_back(std::move(log));
        }
    }
    return logs;
}

}  // namespace beamdump::query
