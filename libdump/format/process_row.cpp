#include <libdump/format/process_row.h>

#include <algorithm>
#include <array>
#include <utility>

namespace beamdump {

namespace {

constexpr std::array<std::pair<std::string_view, records::ProcessStatus>, 7> kStatuses = {{
    {"waiting", records::PROCESS_STATUS_WAITING},
    {"runnable", records::PROCESS_STATUS_RUNNABLE},
    {"running", records::PROCESS_STATUS_RUNNING},
    {"suspended", records::PROCESS_STATUS_SUSPENDED},
    {"garbage_collecting", records::PROCESS_STATUS_GARBAGE_COLLECTING},
    {"exiting", records::PROCESS_STATUS_EXITING},
    {"free", records::PROCESS_STATUS_FREE},
}};

template <typename Value>
std::optional<std::uint64_t> known(bool has, Value value) {
    return has ? std::optional(static_cast<std::uint64_t>(value)) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> column_value(const records::ProcessRow& row,
                                          records::ProcessColumnKind column) {
    const records::Mfa& initial = row.initial_call();
    const records::Mfa& current = row.current_function();
    const records::Mfa& translated = row.translated_initial_call();
    switch (column) {
        case records::PROCESS_COLUMN_OWNER_ID:
            return known(row.has_owner_id(), row.owner_id());
        case records::PROCESS_COLUMN_BEGIN_OFFSET:
            return known(row.has_begin_offset(), row.begin_offset());
        case records::PROCESS_COLUMN_END_OFFSET:
            return known(row.has_end_offset(), row.end_offset());
        case records::PROCESS_COLUMN_VOID_REASON:
            return known(row.has_void_reason(), row.void_reason());
        case records::PROCESS_COLUMN_MEMORY_BYTES:
            return known(row.has_memory_bytes(), row.memory_bytes());
        case records::PROCESS_COLUMN_REDUCTIONS:
            return known(row.has_reductions(), row.reductions());
        case records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH:
            return known(row.has_message_queue_length(), row.message_queue_length());
        case records::PROCESS_COLUMN_REGISTERED_NAME:
            return known(row.has_registered_name_atom(), row.registered_name_atom());
        case records::PROCESS_COLUMN_INITIAL_MODULE:
            return known(initial.has_module_atom(), initial.module_atom());
        case records::PROCESS_COLUMN_INITIAL_FUNCTION:
            return known(initial.has_function_atom(), initial.function_atom());
        case records::PROCESS_COLUMN_INITIAL_ARITY:
            return known(initial.has_arity(), initial.arity());
        case records::PROCESS_COLUMN_CURRENT_MODULE:
            return known(current.has_module_atom(), current.module_atom());
        case records::PROCESS_COLUMN_CURRENT_FUNCTION:
            return known(current.has_function_atom(), current.function_atom());
        case records::PROCESS_COLUMN_CURRENT_ARITY:
            return known(current.has_arity(), current.arity());
        case records::PROCESS_COLUMN_STATUS:
            return known(row.has_status(), row.status());
        case records::PROCESS_COLUMN_HEAP_WORDS:
            return known(row.has_heap_words(), row.heap_words());
        case records::PROCESS_COLUMN_STACK_WORDS:
            return known(row.has_stack_words(), row.stack_words());
        case records::PROCESS_COLUMN_TRANSLATED_MODULE:
            return known(translated.has_module_atom(), translated.module_atom());
        case records::PROCESS_COLUMN_TRANSLATED_FUNCTION:
            return known(translated.has_function_atom(), translated.function_atom());
        case records::PROCESS_COLUMN_TRANSLATED_ARITY:
            return known(translated.has_arity(), translated.arity());
        case records::PROCESS_COLUMN_STATE_BITS:
            return known(row.has_state_bits(), row.state_bits());
        case records::PROCESS_COLUMN_FLAGS:
            return known(row.has_flags(), row.flags());
        case records::PROCESS_COLUMN_LINKED:
            return known(row.has_linked(), row.linked());
        case records::PROCESS_COLUMN_MONITORED:
            return known(row.has_monitored(), row.monitored());
        case records::PROCESS_COLUMN_MONITORED_BY:
            return known(row.has_monitored_by(), row.monitored_by());
        case records::PROCESS_COLUMN_TRACE_FLAGS:
            return known(row.has_trace_flags(), row.trace_flags());
        default:
            return std::nullopt;
    }
}

void set_column(records::ProcessRow& row, records::ProcessColumnKind column, std::uint64_t value) {
    const auto small = static_cast<std::uint32_t>(value);
    switch (column) {
        case records::PROCESS_COLUMN_OWNER_ID:
            row.set_owner_id(value);
            break;
        case records::PROCESS_COLUMN_BEGIN_OFFSET:
            row.set_begin_offset(value);
            break;
        case records::PROCESS_COLUMN_END_OFFSET:
            row.set_end_offset(value);
            break;
        case records::PROCESS_COLUMN_VOID_REASON:
            if (records::VoidReason_IsValid(static_cast<int>(value))) {
                row.set_void_reason(static_cast<records::VoidReason>(value));
            }
            break;
        case records::PROCESS_COLUMN_MEMORY_BYTES:
            row.set_memory_bytes(value);
            break;
        case records::PROCESS_COLUMN_REDUCTIONS:
            row.set_reductions(value);
            break;
        case records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH:
            row.set_message_queue_length(value);
            break;
        case records::PROCESS_COLUMN_REGISTERED_NAME:
            row.set_registered_name_atom(small);
            break;
        case records::PROCESS_COLUMN_INITIAL_MODULE:
            row.mutable_initial_call()->set_module_atom(small);
            break;
        case records::PROCESS_COLUMN_INITIAL_FUNCTION:
            row.mutable_initial_call()->set_function_atom(small);
            break;
        case records::PROCESS_COLUMN_INITIAL_ARITY:
            row.mutable_initial_call()->set_arity(small);
            break;
        case records::PROCESS_COLUMN_CURRENT_MODULE:
            row.mutable_current_function()->set_module_atom(small);
            break;
        case records::PROCESS_COLUMN_CURRENT_FUNCTION:
            row.mutable_current_function()->set_function_atom(small);
            break;
        case records::PROCESS_COLUMN_CURRENT_ARITY:
            row.mutable_current_function()->set_arity(small);
            break;
        case records::PROCESS_COLUMN_STATUS:
            if (records::ProcessStatus_IsValid(static_cast<int>(value))) {
                row.set_status(static_cast<records::ProcessStatus>(value));
            }
            break;
        case records::PROCESS_COLUMN_HEAP_WORDS:
            row.set_heap_words(value);
            break;
        case records::PROCESS_COLUMN_STACK_WORDS:
            row.set_stack_words(value);
            break;
        case records::PROCESS_COLUMN_TRANSLATED_MODULE:
            row.mutable_translated_initial_call()->set_module_atom(small);
            break;
        case records::PROCESS_COLUMN_TRANSLATED_FUNCTION:
            row.mutable_translated_initial_call()->set_function_atom(small);
            break;
        case records::PROCESS_COLUMN_TRANSLATED_ARITY:
            row.mutable_translated_initial_call()->set_arity(small);
            break;
        case records::PROCESS_COLUMN_STATE_BITS:
            row.set_state_bits(small);
            break;
        case records::PROCESS_COLUMN_FLAGS:
            row.set_flags(small);
            break;
        case records::PROCESS_COLUMN_LINKED:
            row.set_linked(value);
            break;
        case records::PROCESS_COLUMN_MONITORED:
            row.set_monitored(value);
            break;
        case records::PROCESS_COLUMN_MONITORED_BY:
            row.set_monitored_by(value);
            break;
        case records::PROCESS_COLUMN_TRACE_FLAGS:
            row.set_trace_flags(small);
            break;
        default:
            break;
    }
}

void RelationCounts::add(const records::Relations& page, std::uint64_t pending) {
    for (const auto& link : page.link()) {
        linked += link.unlinking() ? 0 : 1;
    }
    for (const auto& monitor : page.monitor()) {
        const auto kind = monitor.kind();
        const bool of_both = kind == records::MONITOR_KIND_PROCESS ||
                             kind == records::MONITOR_KIND_PORT ||
                             kind == records::MONITOR_KIND_REMOTE;
        if (monitor.is_target()) {
            monitored_by += of_both || kind == records::MONITOR_KIND_RESOURCE ? 1 : 0;
        } else if (of_both || kind == records::MONITOR_KIND_TIME_OFFSET) {
            monitored += (monitor.flags() & pending) == 0 ? 1 : 0;
        }
    }
}

void RelationCounts::set(records::ProcessEnd& end) const {
    end.set_linked(linked);
    end.set_monitored(monitored);
    end.set_monitored_by(monitored_by);
}

void RelationCounts::set(records::ProcessRow& row) const {
    row.set_linked(linked);
    row.set_monitored(monitored);
    row.set_monitored_by(monitored_by);
}

void add_to_totals(const records::ProcessRow& row, records::Totals& totals) {
    totals.set_processes(totals.processes() + 1);
    // A sum over processes without the value is unknown: crash dumps before R16 lack the memory.
    if (row.has_memory_bytes()) {
        totals.set_process_memory_bytes(totals.process_memory_bytes() + row.memory_bytes());
    }
    if (row.has_heap_words()) {
        totals.set_heap_words(totals.heap_words() + row.heap_words());
    }
    totals.set_messages(totals.messages() + row.message_queue_length());
    totals.set_reductions(totals.reductions() + row.reductions());
    const auto reason = row.void_reason();
    totals.set_processes_void(totals.processes_void() +
                              (reason != records::VOID_REASON_NONE ? 1 : 0));
    if (!records::VoidReason_IsValid(reason)) {
        return;
    }
    while (totals.void_by_reason_size() <= reason) {
        totals.add_void_by_reason(0);
    }
    totals.set_void_by_reason(reason, totals.void_by_reason(reason) + 1);
}

std::string_view status_name(records::ProcessStatus status) {
    const auto* at = std::ranges::find(kStatuses, status, &decltype(kStatuses)::value_type::second);
    return at == kStatuses.end() ? std::string_view("unknown") : at->first;
}

std::vector<std::string_view> status_names() {
    std::vector<std::string_view> names(kStatuses.size());
    std::ranges::transform(kStatuses, names.begin(), [](const auto& named) { return named.first; });
    return names;
}

records::ProcessStatus status_of_name(std::string_view name) {
    const auto* at = std::ranges::find(kStatuses, name, &decltype(kStatuses)::value_type::first);
    return at == kStatuses.end() ? records::PROCESS_STATUS_UNKNOWN : at->second;
}

}  // namespace beamdump
