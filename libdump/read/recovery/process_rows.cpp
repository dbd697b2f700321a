#include <libdump/format/process_row.h>
#include <libdump/read/recovery/process_rows.h>

#include <algorithm>
#include <utility>

namespace beamdump {

namespace {

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
    if (process.has_translated_initial_call()) {
        *row.mutable_translated_initial_call() = process.translated_initial_call();
    }
    if (process.has_current_function()) {
        *row.mutable_current_function() = process.current_function();
    }
    if (const auto status = status_of_name(process.status());
        status != records::PROCESS_STATUS_UNKNOWN) {
        row.set_status(status);
    }
    set_sizes(process, end, row);
    if (end.has_memory_bytes()) {
        row.set_memory_bytes(end.memory_bytes());
    }
    return row;
}

records::TopList top_list(const std::vector<records::ProcessRow>& rows,
                          records::ProcessColumnKind by, std::size_t limit) {
    std::vector<std::pair<std::uint64_t, std::size_t>> values;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (const auto value = column_value(rows[i], by).value_or(0); value != 0) {
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
