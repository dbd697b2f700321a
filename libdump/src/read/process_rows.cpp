#include "process_rows.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
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

std::optional<std::uint64_t> value_of(const records::ProcessRow& row,
                                      records::ProcessColumnKind column) {
    switch (column) {
        case records::PROCESS_COLUMN_MEMORY_BYTES:
            return row.has_memory_bytes() ? std::optional(row.memory_bytes()) : std::nullopt;
        case records::PROCESS_COLUMN_REDUCTIONS:
            return row.has_reductions() ? std::optional(row.reductions()) : std::nullopt;
        case records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH:
            return row.has_message_queue_length() ? std::optional(row.message_queue_length())
                                                  : std::nullopt;
        default:
            return std::nullopt;
    }
}

void set_sizes(const records::Process& process, const records::ProcessEnd& end,
               records::ProcessRow& row) {
    if (process.has_reductions()) {
        row.set_reductions(process.reductions());
    }
    if (process.has_message_queue_length()) {
        row.set_message_queue_length(process.message_queue_length());
    }
    if (process.has_heap_words()) {
        row.set_heap_words(process.heap_words() + process.old_heap_words() +
                           process.fragment_words() + end.message_words());
    }
    if (process.has_stack_words()) {
        row.set_stack_words(process.stack_words());
    }
}

}  // namespace

records::ProcessRow row_of(const records::Process& process, const records::ProcessEnd& end,
                           std::uint64_t end_offset) {
    records::ProcessRow row;
    row.set_owner_id(end.owner_id());
    row.set_end_offset(end_offset);
    row.set_void_reason(end.void_reason());
    if (end.has_begin_offset()) {
        row.set_begin_offset(end.begin_offset());
    }
    if (process.has_registered_name_atom()) {
        row.set_registered_name_atom(process.registered_name_atom());
    }
    if (process.has_initial_call()) {
        *row.mutable_initial_call() = process.initial_call();
    }
    if (process.has_current_function()) {
        *row.mutable_current_function() = process.current_function();
    }
    const auto* status =
        std::ranges::find(kStatuses, process.status(), &decltype(kStatuses)::value_type::first);
    if (status != kStatuses.end()) {
        row.set_status(status->second);
    }
    set_sizes(process, end, row);
    if (end.has_memory_bytes()) {
        row.set_memory_bytes(end.memory_bytes());
    }
    return row;
}

void add_process_totals(const std::vector<records::ProcessRow>& rows, records::Totals& totals) {
    std::vector<std::uint64_t> by_reason(records::VoidReason_ARRAYSIZE);
    for (const records::ProcessRow& row : rows) {
        const auto reason = static_cast<std::size_t>(row.void_reason());
        if (reason < by_reason.size()) {
            by_reason[reason] += 1;
        }
        totals.set_process_memory_bytes(totals.process_memory_bytes() + row.memory_bytes());
        totals.set_heap_words(totals.heap_words() + row.heap_words());
        totals.set_messages(totals.messages() + row.message_queue_length());
        totals.set_reductions(totals.reductions() + row.reductions());
    }
    totals.set_processes(rows.size());
    totals.set_processes_void(rows.size() - by_reason[records::VOID_REASON_NONE]);
    totals.mutable_void_by_reason()->Assign(by_reason.begin(), by_reason.end());
}

records::TopList top_list(const std::vector<records::ProcessRow>& rows,
                          records::ProcessColumnKind by, std::size_t limit) {
    std::vector<std::pair<std::uint64_t, std::size_t>> values;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (const auto value = value_of(rows[i], by).value_or(0); value != 0) {
            values.emplace_back(value, i);
        }
    }
    const auto larger = [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    };
    const std::size_t count = std::min(limit, values.size());
    std::ranges::partial_sort(values, values.begin() + static_cast<std::ptrdiff_t>(count), larger);
    records::TopList list;
    list.set_by(by);
    for (std::size_t i = 0; i < count; ++i) {
        *list.add_row() = rows[values[i].second];
    }
    return list;
}

}  // namespace beamdump
