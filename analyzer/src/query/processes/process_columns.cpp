#include "query/processes/process_columns.h"

#include "query/rows/choice.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/process_row.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::query {

namespace {

using Index = records::ProcessColumnKind;

constexpr ListedColumn text_column(ProcessColumn column, Column asked, const IndexColumns& index) {
    return {.column = column, .asked = asked, .index = index, .searched = true};
}
constexpr ListedColumn count_column(ProcessColumn column, Column asked, Shown shown,
                                    std::optional<std::uint64_t> ProcessLine::* amount,
                                    Index index) {
    asked.kind = ColumnKind::kCount;
    return {.column = column, .asked = asked, .shown = shown, .amount = amount, .index = {index}};
}
constexpr ListedColumn words_column(ProcessColumn column, Column asked,
                                    std::optional<std::uint64_t> ProcessLine::* amount,
                                    const IndexColumns& index = {}) {
    asked.kind = ColumnKind::kBytes;
    return {.column = column,
            .asked = asked,
            .shown = Shown::kOnRequest,
            .in_words = true,
            .amount = amount,
            .index = index};
}

constexpr auto kListed = std::to_array<ListedColumn>({
    text_column(ProcessColumn::kPid, {.name = "pid", .title = "PID"},
                {records::PROCESS_COLUMN_OWNER_ID}),
    text_column(ProcessColumn::kName,
                {.name = "name",
                 .title = "NAME OR INITIAL CALL",
                 .shrinks = true,
                 .also = "registered_name"},
                {records::PROCESS_COLUMN_REGISTERED_NAME}),
    {.column = ProcessColumn::kMemory,
     .asked = {.name = "memory", .title = "MEMORY", .kind = ColumnKind::kBytes},
     .amount = &ProcessLine::memory_bytes,
     .index = {records::PROCESS_COLUMN_MEMORY_BYTES}},
    count_column(ProcessColumn::kReductions, {.name = "reductions", .title = "REDUCTIONS"},
                 Shown::kAlways, &ProcessLine::reductions, records::PROCESS_COLUMN_REDUCTIONS),
    count_column(ProcessColumn::kQueue,
                 {.name = "queue", .title = "MESSAGES", .also = "message_queue_len"},
                 Shown::kAlways, &ProcessLine::message_queue_length,
                 records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH),
    {.column = ProcessColumn::kBinaries,
     .asked = {.name = "binaries", .title = "BINARIES", .kind = ColumnKind::kBytes},
     .shown = Shown::kOnRequest,
     .what = "bytes that it refers to",
     .amount = &ProcessLine::binary_bytes},
    {.column = ProcessColumn::kEts,
     .asked = {.name = "ets", .title = "ETS TABLES", .kind = ColumnKind::kBytes},
     .shown = Shown::kOnRequest,
     .what = "of tables that it owns",
     .amount = &ProcessLine::ets_bytes,
     .count = &ProcessLine::ets_tables},
    words_column(ProcessColumn::kStack, {.name = "stack", .title = "STACK"},
                 &ProcessLine::stack_words, {records::PROCESS_COLUMN_STACK_WORDS}),
    words_column(ProcessColumn::kHeap, {.name = "heap", .title = "HEAP"}, &ProcessLine::heap_words),
    words_column(ProcessColumn::kOldHeap, {.name = "old_heap", .title = "OLD HEAP"},
                 &ProcessLine::old_heap_words),
    count_column(ProcessColumn::kLinks, {.name = "links", .title = "LINKS"}, Shown::kOnRequest,
                 &ProcessLine::links, records::PROCESS_COLUMN_LINKED),
    count_column(ProcessColumn::kMonitors, {.name = "monitors", .title = "MONITORS"},
                 Shown::kOnRequest, &ProcessLine::monitors, records::PROCESS_COLUMN_MONITORED),
    count_column(ProcessColumn::kMonitoredBy, {.name = "monitored_by", .title = "MONITORED BY"},
                 Shown::kOnRequest, &ProcessLine::monitored_by,
                 records::PROCESS_COLUMN_MONITORED_BY),
    {.column = ProcessColumn::kApplication,
     .asked = {.name = "application", .title = "APPLICATION"},
     .shown = Shown::kOnRequest,
     .text = &ProcessLine::application},
    {.column = ProcessColumn::kState,
     .asked = {.name = "state", .title = "STATE"},
     .shown = Shown::kOnRequest,
     .what = "its flags by name",
     .text = &ProcessLine::state,
     .index = {records::PROCESS_COLUMN_STATE_BITS}},
    {.column = ProcessColumn::kFlags,
     .asked = {.name = "flags", .title = "FLAGS"},
     .shown = Shown::kOnRequest,
     .text = &ProcessLine::flags,
     .index = {records::PROCESS_COLUMN_FLAGS}},
    text_column(ProcessColumn::kStatus, {.name = "status", .title = "STATUS"},
                {records::PROCESS_COLUMN_STATUS}),
    text_column(ProcessColumn::kCurrentFunction,
                {.name = "current_function", .title = "CURRENT FUNCTION", .shrinks = true},
                {records::PROCESS_COLUMN_CURRENT_MODULE, records::PROCESS_COLUMN_CURRENT_FUNCTION,
                 records::PROCESS_COLUMN_CURRENT_ARITY}),
    {.column = ProcessColumn::kInitialCall,
     .asked = {.name = "initial_call"},
     .shown = Shown::kNever,
     .index = {records::PROCESS_COLUMN_INITIAL_MODULE, records::PROCESS_COLUMN_INITIAL_FUNCTION,
               records::PROCESS_COLUMN_INITIAL_ARITY},
     .searched = true},
});
static_assert(std::ranges::all_of(kListed, [](const ListedColumn& listed) {
    return &kListed.at(static_cast<std::size_t>(listed.column)) == &listed;
}));

constexpr auto kAsked = [] {
    std::array<Column, kListed.size()> columns{};
    std::ranges::transform(kListed, columns.begin(), &ListedColumn::asked);
    return columns;
}();

/// The name up to a comma, which is taken off `names`; nullopt at the end.
std::optional<std::string_view> next_name(std::optional<std::string_view>& names) {
    if (!names) {
        return std::nullopt;
    }
    const auto comma = names->find(',');
    const auto name = names->substr(0, comma);
    names =
        comma == std::string_view::npos ? std::nullopt : std::optional(names->substr(comma + 1));
    return name;
}

}  // namespace

std::span<const ListedColumn> listed_columns() {
    return kListed;
}

const ListedColumn& listed_column(ProcessColumn column) {
    return kListed.at(static_cast<std::size_t>(column));
}

std::optional<ProcessColumn> find_process_column(std::string_view name) {
    const auto place = column_place(kAsked, name);
    return place == kAsked.size() ? std::nullopt : std::optional(kListed.at(place).column);
}

bool is_indexed(ProcessColumn column, const DumpForm& form) {
    return listed_column(column).index.front() != records::PROCESS_COLUMN_UNKNOWN &&
           (column != ProcessColumn::kStack || form.indexed_stack_sizes);
}

Result<void> parse_columns(std::string_view names, ColumnChoice& choice) {
    std::optional<std::string_view> rest = names;
    while (const auto name = next_name(rest)) {
        const auto* const listed = std::ranges::find_if(kListed, [&](const ListedColumn& column) {
            return column.shown == Shown::kOnRequest && column.asked.name == *name;
        });
        if (listed == kListed.end()) {
            std::vector<std::string_view> known;
            for (const auto& column : kListed) {
                if (column.shown == Shown::kOnRequest) {
                    known.push_back(column.asked.name);
                }
            }
            return fail(ErrorCode::kUsage, unknown_value("column", *name, known));
        }
        choice.add(listed->column);
    }
    return {};
}

std::span<const Column> process_filter_columns() {
    return kAsked;
}

std::optional<ProcessColumn> column_of(const RowFilter& filter) {
    return filter.column() ? std::optional(kListed.at(*filter.column()).column) : std::nullopt;
}

Result<RowFilter> parse_filter(std::string_view argument) {
    ASSIGN_OR_RETURN(auto filter, RowFilter::parse(kAsked, argument));
    const auto known = [&filter](std::string_view status) {
        return filter.comparison() == Comparison::kHas
                   ? has_pattern(status, filter.value(), Case::kMatters)
                   : status == filter.value();
    };
    if (column_of(filter) == ProcessColumn::kStatus &&
        std::ranges::none_of(status_names(), known)) {
        return fail(ErrorCode::kUsage, unknown_value("status", filter.value(), status_names()));
    }
    return filter;
}

Result<std::vector<ProcessOrder>> parse_sort(std::string_view names) {
    std::vector<ProcessOrder> orders;
    std::optional<std::string_view> rest = names;
    while (auto name = next_name(rest)) {
        const bool reversed = name->starts_with('-');
        name->remove_prefix(reversed ? 1 : 0);
        const auto column = find_process_column(*name);
        if (!column) {
            return fail(ErrorCode::kUsage,
                        unknown_value("sort order", *name, column_names(kAsked)));
        }
        orders.push_back({.by = *column, .reversed = reversed});
    }
    if (orders.size() > kMostSortColumns) {
        return fail(ErrorCode::kUsage,
                    fmt::format("processes are sorted by at most {} columns", kMostSortColumns));
    }
    return orders;
}

ColumnChoice read_columns(const std::vector<RowFilter>& filters,
                          std::span<const ProcessOrder> orders, const DumpForm& form) {
    ColumnChoice read;
    const auto add = [&](ProcessColumn column) {
        if (!is_indexed(column, form)) {
            read.add(column);
        }
    };
    for (const auto& filter : filters) {
        if (const auto column = column_of(filter)) {
            add(*column);
        }
    }
    for (const auto& order : orders) {
        add(order.by);
    }
    return read;
}

}  // namespace beamdump::query
