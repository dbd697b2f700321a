#include <libdump/model/signals.h>
#include <libdump/term/term_scheme.h>

#include <array>

namespace beamdump {

namespace {

constexpr std::array<std::string_view, 21> kOperations = {"exit",
                                                          "exit_linked",
                                                          "monitor_down",
                                                          "monitor",
                                                          "demonitor",
                                                          "link",
                                                          "unlink",
                                                          "group_leader",
                                                          "trace_state",
                                                          "persistent_monitor_message",
                                                          "is_alive",
                                                          "process_info",
                                                          "suspend",
                                                          "rpc",
                                                          "spawn_reply",
                                                          "alias_message",
                                                          "receive_mark",
                                                          "unlink_ack",
                                                          "adjust_message_queue",
                                                          "flush",
                                                          "nif_select"};

}  // namespace

std::string_view signal_kind(std::uint64_t tag) {
    constexpr std::uint64_t kOperation = 0xff;
    const auto operation = header_arity(tag) & kOperation;
    return operation < kOperations.size() ? kOperations.at(operation) : "unknown";
}

std::string_view system_task_kind(records::SystemTaskKind kind) {
    switch (kind) {
        case records::SYSTEM_TASK_KIND_MAJOR_COLLECTION:
            return "major_gc";
        case records::SYSTEM_TASK_KIND_MINOR_COLLECTION:
            return "minor_gc";
        case records::SYSTEM_TASK_KIND_CHECK_PROCESS_CODE:
            return "check_process_code";
        case records::SYSTEM_TASK_KIND_COPY_LITERALS:
            return "copy_literals";
        case records::SYSTEM_TASK_KIND_FLUSH_TRACE_MESSAGES:
            return "flush_trace_messages";
        case records::SYSTEM_TASK_KIND_FREE_FIXATION:
            return "free_fixation";
        case records::SYSTEM_TASK_KIND_PRIORITY_SIGNAL:
            return "priority_signal";
        case records::SYSTEM_TASK_KIND_TEST:
            return "test";
        default:
            return "unknown";
    }
}

}  // namespace beamdump
