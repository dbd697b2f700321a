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

using Row = records::ProcessRow;
using Mfa = records::Mfa;

/// A column of the index: the value of a row in it, and how a row gets one.
struct RowColumn {
    records::ProcessColumnKind kind;
    std::optional<std::uint64_t> (*get)(const Row& row);
    void (*set)(Row& row, std::uint64_t value);
};

template <typename Message, typename Value>
void put(Message& message, void (Message::*set)(Value), std::uint64_t value) {
    (message.*set)(static_cast<Value>(value));
}

template <auto kHas, auto kGet, auto kSet>
constexpr RowColumn number(records::ProcessColumnKind kind) {
    return {kind,
            [](const Row& row) {
                return (row.*kHas)() ? std::optional<std::uint64_t>((row.*kGet)()) : std::nullopt;
            },
            [](Row& row, std::uint64_t value) { put(row, kSet, value); }};
}

/// A part of a function's name.
template <auto kFunction, auto kMutable, auto kHas, auto kGet, auto kSet>
constexpr RowColumn part(records::ProcessColumnKind kind) {
    return {kind,
            [](const Row& row) {
                const Mfa& function = (row.*kFunction)();
                return (function.*kHas)() ? std::optional<std::uint64_t>((function.*kGet)())
                                          : std::nullopt;
            },
            [](Row& row, std::uint64_t value) { put(*(row.*kMutable)(), kSet, value); }};
}

template <auto kFunction, auto kMutable>
constexpr RowColumn module_of(records::ProcessColumnKind kind) {
    return part<kFunction, kMutable, &Mfa::has_module_atom, &Mfa::module_atom,
                &Mfa::set_module_atom>(kind);
}
template <auto kFunction, auto kMutable>
constexpr RowColumn function_of(records::ProcessColumnKind kind) {
    return part<kFunction, kMutable, &Mfa::has_function_atom, &Mfa::function_atom,
                &Mfa::set_function_atom>(kind);
}
template <auto kFunction, auto kMutable>
constexpr RowColumn arity_of(records::ProcessColumnKind kind) {
    return part<kFunction, kMutable, &Mfa::has_arity, &Mfa::arity, &Mfa::set_arity>(kind);
}

/// A value of an enumeration: one that is not a member is not set.
template <auto kHas, auto kGet, auto kSet, typename Value, bool (*kIsValid)(int)>
constexpr RowColumn member(records::ProcessColumnKind kind) {
    return {kind,
            [](const Row& row) {
                return (row.*kHas)() ? std::optional(static_cast<std::uint64_t>((row.*kGet)()))
                                     : std::nullopt;
            },
            [](Row& row, std::uint64_t value) {
                if (kIsValid(static_cast<int>(value))) {
                    (row.*kSet)(static_cast<Value>(value));
                }
            }};
}

/// By ProcessColumnKind, from the first one on.
constexpr auto kColumns = std::to_array<RowColumn>({
    number<&Row::has_owner_id, &Row::owner_id, &Row::set_owner_id>(
        records::PROCESS_COLUMN_OWNER_ID),
    number<&Row::has_begin_offset, &Row::begin_offset, &Row::set_begin_offset>(
        records::PROCESS_COLUMN_BEGIN_OFFSET),
    number<&Row::has_end_offset, &Row::end_offset, &Row::set_end_offset>(
        records::PROCESS_COLUMN_END_OFFSET),
    member<&Row::has_void_reason, &Row::void_reason, &Row::set_void_reason, records::VoidReason,
           records::VoidReason_IsValid>(records::PROCESS_COLUMN_VOID_REASON),
    number<&Row::has_memory_bytes, &Row::memory_bytes, &Row::set_memory_bytes>(
        records::PROCESS_COLUMN_MEMORY_BYTES),
    number<&Row::has_reductions, &Row::reductions, &Row::set_reductions>(
        records::PROCESS_COLUMN_REDUCTIONS),
    number<&Row::has_message_queue_length, &Row::message_queue_length,
           &Row::set_message_queue_length>(records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH),
    number<&Row::has_registered_name_atom, &Row::registered_name_atom,
           &Row::set_registered_name_atom>(records::PROCESS_COLUMN_REGISTERED_NAME),
    module_of<&Row::initial_call, &Row::mutable_initial_call>(
        records::PROCESS_COLUMN_INITIAL_MODULE),
    function_of<&Row::initial_call, &Row::mutable_initial_call>(
        records::PROCESS_COLUMN_INITIAL_FUNCTION),
    arity_of<&Row::initial_call, &Row::mutable_initial_call>(records::PROCESS_COLUMN_INITIAL_ARITY),
    module_of<&Row::current_function, &Row::mutable_current_function>(
        records::PROCESS_COLUMN_CURRENT_MODULE),
    function_of<&Row::current_function, &Row::mutable_current_function>(
        records::PROCESS_COLUMN_CURRENT_FUNCTION),
    arity_of<&Row::current_function, &Row::mutable_current_function>(
        records::PROCESS_COLUMN_CURRENT_ARITY),
    member<&Row::has_status, &Row::status, &Row::set_status, records::ProcessStatus,
           records::ProcessStatus_IsValid>(records::PROCESS_COLUMN_STATUS),
    number<&Row::has_heap_words, &Row::heap_words, &Row::set_heap_words>(
        records::PROCESS_COLUMN_HEAP_WORDS),
    number<&Row::has_stack_words, &Row::stack_words, &Row::set_stack_words>(
        records::PROCESS_COLUMN_STACK_WORDS),
    module_of<&Row::translated_initial_call, &Row::mutable_translated_initial_call>(
        records::PROCESS_COLUMN_TRANSLATED_MODULE),
    function_of<&Row::translated_initial_call, &Row::mutable_translated_initial_call>(
        records::PROCESS_COLUMN_TRANSLATED_FUNCTION),
    arity_of<&Row::translated_initial_call, &Row::mutable_translated_initial_call>(
        records::PROCESS_COLUMN_TRANSLATED_ARITY),
    number<&Row::has_state_bits, &Row::state_bits, &Row::set_state_bits>(
        records::PROCESS_COLUMN_STATE_BITS),
    number<&Row::has_flags, &Row::flags, &Row::set_flags>(records::PROCESS_COLUMN_FLAGS),
    number<&Row::has_linked, &Row::linked, &Row::set_linked>(records::PROCESS_COLUMN_LINKED),
    number<&Row::has_monitored, &Row::monitored, &Row::set_monitored>(
        records::PROCESS_COLUMN_MONITORED),
    number<&Row::has_monitored_by, &Row::monitored_by, &Row::set_monitored_by>(
        records::PROCESS_COLUMN_MONITORED_BY),
    number<&Row::has_trace_flags, &Row::trace_flags, &Row::set_trace_flags>(
        records::PROCESS_COLUMN_TRACE_FLAGS),
    number<&Row::has_naming_keys_absent, &Row::naming_keys_absent, &Row::set_naming_keys_absent>(
        records::PROCESS_COLUMN_NAMING_KEYS_ABSENT),
});
constexpr std::size_t place_of(records::ProcessColumnKind kind) {
    return static_cast<std::size_t>(kind) - records::PROCESS_COLUMN_OWNER_ID;
}
constexpr bool each_at_its_place() {
    return std::ranges::all_of(kColumns, [](const RowColumn& column) {
        return &kColumns.at(place_of(column.kind)) == &column;
    });
}
static_assert(each_at_its_place() &&
              kColumns.size() == place_of(records::ProcessColumnKind_MAX) + 1);

/// Null: no such column.
const RowColumn* column_of(records::ProcessColumnKind kind) {
    const auto at = place_of(kind);
    return at < kColumns.size() ? &kColumns.at(at) : nullptr;
}

/// Words of heap, old heap and fragments. A crash dump's text does not tell which fragments are
/// those of messages.
std::optional<std::uint64_t> heap_words(const records::Process& process,
                                        const records::ProcessEnd& end) {
    const bool whole = process.has_old_heap_words() && process.has_fragment_words() &&
                       process.message_queue_length() == 0;
    if (!process.has_heap_words() || !(end.has_message_words() || whole)) {
        return std::nullopt;
    }
    return process.heap_words() + process.old_heap_words() + process.fragment_words() +
           end.message_words();
}

}  // namespace

std::optional<std::uint64_t> column_value(const records::ProcessRow& row,
                                          records::ProcessColumnKind column) {
    const auto* const found = column_of(column);
    return found == nullptr ? std::nullopt : found->get(row);
}

void set_column(records::ProcessRow& row, records::ProcessColumnKind column, std::uint64_t value) {
    if (const auto* const found = column_of(column)) {
        found->set(row, value);
    }
}

void set_row(const records::Process& process, const records::ProcessEnd& end,
             std::uint64_t end_offset, records::ProcessRow& into) {
    into.Clear();
    into.set_owner_id(end.owner_id());
    into.set_end_offset(end_offset);
    into.set_void_reason(end.void_reason());
    if (process.has_initial_call()) {
        *into.mutable_initial_call() = process.initial_call();
    }
    if (process.has_translated_initial_call()) {
        *into.mutable_translated_initial_call() = process.translated_initial_call();
    }
    if (process.has_current_function()) {
        *into.mutable_current_function() = process.current_function();
    }
    if (const auto status = status_of_name(process.status());
        status != records::PROCESS_STATUS_UNKNOWN) {
        into.set_status(status);
    }
    const auto number = [&into]<typename From, typename Get, typename Value>(
                            const From& from, bool (From::*has)() const, Get (From::*get)() const,
                            void (Row::*set)(Value)) {
        if ((from.*has)()) {
            put(into, set, (from.*get)());
        }
    };
    using Process = records::Process;
    using End = records::ProcessEnd;
    number(process, &Process::has_registered_name_atom, &Process::registered_name_atom,
           &Row::set_registered_name_atom);
    number(process, &Process::has_reductions, &Process::reductions, &Row::set_reductions);
    number(process, &Process::has_message_queue_length, &Process::message_queue_length,
           &Row::set_message_queue_length);
    number(process, &Process::has_stack_words, &Process::stack_words, &Row::set_stack_words);
    number(process, &Process::has_state_bits, &Process::state_bits, &Row::set_state_bits);
    number(process, &Process::has_flags, &Process::flags, &Row::set_flags);
    number(process, &Process::has_trace_flags, &Process::trace_flags, &Row::set_trace_flags);
    number(process, &Process::has_naming_keys_absent, &Process::naming_keys_absent,
           &Row::set_naming_keys_absent);
    number(end, &End::has_begin_offset, &End::begin_offset, &Row::set_begin_offset);
    number(end, &End::has_linked, &End::linked, &Row::set_linked);
    number(end, &End::has_monitored, &End::monitored, &Row::set_monitored);
    number(end, &End::has_monitored_by, &End::monitored_by, &Row::set_monitored_by);
    number(end, &End::has_memory_bytes, &End::memory_bytes, &Row::set_memory_bytes);
    if (const auto words = heap_words(process, end)) {
        into.set_heap_words(*words);
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
