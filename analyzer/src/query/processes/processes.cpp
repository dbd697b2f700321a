#include "query/processes/processes.h"

#include "query/process/process_names.h"
#include "query/processes/process_fields.h"
#include "query/rows/choice.h"

#include <libdump/base/first_items.h>
#include <libdump/base/return_if_error.h>
#include <libdump/format/process_row.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace beamdump::query {

namespace {

using Values = ProcessIndex::Values;

/// A row and its sort key; the smallest key is first.
using Ranked = std::pair<std::uint64_t, std::uint64_t>;

/// Computes sort keys from columns.
class SortKey {
  public:
    SortKey(Dump& dump, ProcessOrder order, const ProcessColumns& read, ColumnSet& columns,
            const ProcessLabels& labels)
        : sort_(order.by),
          reversed_(order.reversed),
          read_(read),
          labels_(labels),
          stack_is_read_(!form_of(dump).indexed_stack_sizes) {
        switch (order.by) {
            case ProcessSort::kMemory:
                place_ = columns.add(records::PROCESS_COLUMN_MEMORY_BYTES);
                break;
            case ProcessSort::kReductions:
                place_ = columns.add(records::PROCESS_COLUMN_REDUCTIONS);
                break;
            case ProcessSort::kQueue:
                place_ = columns.add(records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH);
                break;
            case ProcessSort::kLinks:
                place_ = columns.add(records::PROCESS_COLUMN_LINKED);
                break;
            case ProcessSort::kMonitors:
                place_ = columns.add(records::PROCESS_COLUMN_MONITORED);
                break;
            case ProcessSort::kMonitoredBy:
                place_ = columns.add(records::PROCESS_COLUMN_MONITORED_BY);
                break;
            case ProcessSort::kStack:
                place_ = columns.add(stack_is_read_ ? records::PROCESS_COLUMN_OWNER_ID
                                                    : records::PROCESS_COLUMN_STACK_WORDS);
                break;
            case ProcessSort::kBinaries:
            case ProcessSort::kEts:
            case ProcessSort::kPid:
                place_ = columns.add(records::PROCESS_COLUMN_OWNER_ID);
                break;
            case ProcessSort::kName:
                place_ = columns.add(records::PROCESS_COLUMN_OWNER_ID);
                name_.emplace(dump, ProcessField::kName, columns);
                initial_call_.emplace(dump, ProcessField::kInitialCall, columns);
                translated_call_.emplace(dump, kTranslatedCall, columns);
                break;
        }
    }

    /// First pass of a sort by name: collects the distinct names.
    void gather(Values values) {
        if (sort_ == ProcessSort::kName) {
            names_.emplace(name_of(values), 0);
        }
    }
    void rank_names() {
        std::uint64_t rank = 0;
        for (auto& [name, place] : names_) {
            place = rank++;
        }
    }

    std::uint64_t of(Values values) {
        if (sort_ == ProcessSort::kName) {
            return ordered(names_.at(name_of(values)), false);
        }
        const auto value = values[place_];
        if (sort_ == ProcessSort::kPid) {
            is_told_ = true;
            return ordered(value.value_or(0), false);
        }
        const auto amount = amount_of(value);
        is_told_ = is_told_ || amount.has_value();
        // What is not known comes last in either order.
        return amount ? ordered(*amount, true) : UINT64_MAX;
    }

    /// Whether the dump has it of a process that of() was called for.
    [[nodiscard]] bool is_told() const { return is_told_ || sort_ == ProcessSort::kName; }

    [[nodiscard]] bool needs_names() const { return sort_ == ProcessSort::kName; }

  private:
    [[nodiscard]] std::uint64_t ordered(std::uint64_t number, bool largest_first) const {
        return largest_first != reversed_ ? ~number : number;
    }

    [[nodiscard]] std::optional<std::uint64_t> amount_of(
        const std::optional<std::uint64_t>& value) const {
        if (sort_ == ProcessSort::kBinaries) {
            return read_.binary_bytes(value.value_or(0));
        }
        if (sort_ == ProcessSort::kEts) {
            return read_.ets_bytes(value.value_or(0));
        }
        if (sort_ == ProcessSort::kStack && stack_is_read_) {
            return read_.stack_words(value.value_or(0));
        }
        return value;
    }

    /// Processes with a name or a label come first, the others by initial call.
    using Name = std::pair<int, std::string>;
    Name name_of(Values values) {
        const std::string& name = name_->of(values);
        if (!name.empty()) {
            return {0, name};
        }
        if (const auto label = labels_.find(values[place_].value_or(0)); label != labels_.end()) {
            return {0, label->second};
        }
        const std::string& translated = translated_call_->of(values);
        return {1, translated.empty() ? initial_call_->of(values) : translated};
    }

    ProcessSort sort_;
    bool reversed_;
    const ProcessColumns& read_;
    const ProcessLabels& labels_;
    bool stack_is_read_;
    bool is_told_ = false;
    std::size_t place_ = 0;
    std::optional<FieldText> name_;
    std::optional<FieldText> initial_call_;
    std::optional<FieldText> translated_call_;
    std::map<Name, std::uint64_t> names_;
};

constexpr std::array<Column, 13> kFilterColumns = {
    {{.name = "pid"},
     {.name = "name", .also = "registered_name"},
     {.name = "initial_call"},
     {.name = "current_function"},
     {.name = "status"},
     {.name = "state"},
     {.name = "flags"},
     {.name = "memory", .kind = ColumnKind::kBytes},
     {.name = "reductions", .kind = ColumnKind::kCount},
     {.name = "queue", .kind = ColumnKind::kCount, .also = "message_queue_len"},
     {.name = "links", .kind = ColumnKind::kCount},
     {.name = "monitors", .kind = ColumnKind::kCount},
     {.name = "monitored_by", .kind = ColumnKind::kCount}}};

constexpr std::array<Named<ProcessSort>, 11> kSorts = {
    {{"memory", ProcessSort::kMemory},
     {"reductions", ProcessSort::kReductions},
     {"queue", ProcessSort::kQueue},
     {"name", ProcessSort::kName},
     {"pid", ProcessSort::kPid},
     {"binaries", ProcessSort::kBinaries},
     {"ets", ProcessSort::kEts},
     {"stack", ProcessSort::kStack},
     {"links", ProcessSort::kLinks},
     {"monitors", ProcessSort::kMonitors},
     {"monitored_by", ProcessSort::kMonitoredBy}}};

}  // namespace

std::span<const Column> process_filter_columns() {
    return kFilterColumns;
}

Result<RowFilter> parse_filter(std::string_view argument) {
    ASSIGN_OR_RETURN(auto filter, RowFilter::parse(kFilterColumns, argument));
    constexpr auto kStatusPlace = static_cast<std::size_t>(ProcessField::kStatus);
    const auto known = [&filter](std::string_view status) {
        return filter.comparison() == Comparison::kHas
                   ? has_pattern(status, filter.value(), Case::kMatters)
                   : status == filter.value();
    };
    if (filter.column() == kStatusPlace && std::ranges::none_of(status_names(), known)) {
        return fail(ErrorCode::kUsage, unknown_value("status", filter.value(), status_names()));
    }
    return filter;
}

std::optional<ProcessColumn> column_of(ProcessSort sort) {
    const auto* const named = std::ranges::find(kSorts, sort, &Named<ProcessSort>::second);
    const auto columns = requested_columns();
    const auto found = std::ranges::find(columns, named->first, &RequestedColumn::name);
    return found == columns.end() ? std::nullopt : std::optional(found->column);
}

Result<ProcessOrder> parse_sort(std::string_view name) {
    if (name.contains(',')) {
        return fail(ErrorCode::kUsage, "processes are sorted by one column: --sort memory");
    }
    const bool reversed = name.starts_with('-');
    ASSIGN_OR_RETURN(const auto sort,
                     parse_choice("sort order", name.substr(reversed ? 1 : 0), kSorts));
    return ProcessOrder{sort, reversed};
}

Result<void> ProcessListing::read_in_advance(const ProcessQuery& query) {
    if (query.sort.by == ProcessSort::kName) {
        ASSIGN_OR_RETURN(labels_, ProcessNames(*dump_).labels());
    } else {
        ASSIGN_OR_RETURN(labels_, labels_for(*dump_, query.filters));
    }
    if (choice_.has(ProcessColumn::kEts)) {
        RETURN_IF_ERROR(columns_.read_tables());
    }
    if (!columns_are_read_) {
        return {};
    }
    ColumnSet columns;
    Matchers matches(*dump_, query.filters, columns, labels_);
    std::vector<std::uint64_t> matching;
    RETURN_IF_ERROR(
        dump_->processes().visit(columns.columns(), [&](std::uint64_t row, Values values) {
            if (matches(values)) {
                matching.push_back(row);
            }
            return true;
        }));
    return columns_.read_processes(matching);
}

Result<ProcessListing> ProcessListing::select(Dump& dump, const ProcessQuery& query) {
    ProcessListing listing(dump, query);
    RETURN_IF_ERROR(listing.read_in_advance(query));
    ColumnSet columns;
    SortKey key(dump, query.sort, listing.columns_, columns, listing.labels_);
    Matchers matches(dump, query.filters, columns, listing.labels_);
    listing.total_ = dump.processes().size();
    if (key.needs_names()) {
        auto done = dump.processes().visit(columns.columns(), [&](std::uint64_t, Values values) {
            key.gather(values);
            return true;
        });
        if (!done) {
            return std::unexpected(done.error());
        }
        key.rank_names();
    }
    FirstItems<Ranked, std::less<>> first(query.limit, {});
    auto done = dump.processes().visit(columns.columns(), [&](std::uint64_t row, Values values) {
        if (matches(values)) {
            ++listing.matching_;
            first.add({key.of(values), row});
        }
        return true;
    });
    if (!done) {
        return std::unexpected(done.error());
    }
    listing.untold_ = matches.untold();
    // By memory unless another order is asked for.
    if (query.sort.by != ProcessSort::kMemory && listing.matching_ != 0 && !key.is_told()) {
        const auto* const sort =
            std::ranges::find(kSorts, query.sort.by, &Named<ProcessSort>::second);
        return fail(
            ErrorCode::kNotFound,
            fmt::format("processes cannot be sorted by {}: the dump does not tell it of any "
                        "of them",
                        sort->first));
    }
    const auto ranked = first.take();
    listing.rows_.resize(ranked.size());
    std::ranges::transform(ranked, listing.rows_.begin(), &Ranked::second);
    return listing;
}

Result<std::vector<ProcessLine>> ProcessListing::next(std::size_t most) {
    const std::size_t count = std::min({most, kMostLines, rows_.size() - given_});
    const auto numbers = std::span(rows_).subspan(given_, count);
    ASSIGN_OR_RETURN(auto rows, dump_->processes().rows(numbers));
    if (choice_.reads_processes(form_of(*dump_)) && !columns_are_read_) {
        RETURN_IF_ERROR(columns_.read_processes(numbers));
    }
    if (choice_.has(ProcessColumn::kApplication)) {
        std::set<std::uint64_t> owners;
        for (const auto& row : rows) {
            owners.insert(row.owner_id());
        }
        RETURN_IF_ERROR(columns_.read_applications(owners));
    }
    given_ += count;
    std::vector<ProcessLine> lines;
    lines.reserve(count);
    for (const auto& row : rows) {
        lines.push_back(process_line(*dump_, row));
        columns_.fill(row.owner_id(), lines.back());
    }
    if (names_) {
        ProcessNames(*dump_).add_to(lines, rows);
    }
    return lines;
}

}  // namespace beamdump::query
