#include "query/processes/processes.h"

#include "query/process/process_names.h"
#include "query/processes/process_fields.h"

#include <libdump/base/first_items.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace beamdump::query {

namespace {

using Values = ProcessIndex::Values;

/// Computes the sort keys of one column: the smallest is first.
class SortKey {
  public:
    SortKey(Dump& dump, ProcessOrder order, const ProcessValues& read, ColumnSet& columns)
        : order_(order) {
        if (order.by == ProcessColumn::kPid) {
            owner_ = columns.add(records::PROCESS_COLUMN_OWNER_ID);
        } else if (listed_column(order.by).amount != nullptr) {
            amount_.emplace(dump, order.by, columns, read);
        } else {
            text_.emplace(dump, order.by, columns, read);
        }
        if (order.by == ProcessColumn::kName) {
            initial_call_.emplace(dump, ProcessColumn::kInitialCall, columns, read);
        }
    }

    /// Whether the distinct texts of all processes are gathered, and ranked, before of().
    [[nodiscard]] bool needs_texts() const { return text_.has_value(); }
    void gather(Values values) {
        if (auto text = text_of(values)) {
            texts_.emplace(std::move(*text), 0);
        }
    }
    void rank_texts() {
        std::uint64_t rank = 0;
        for (auto& [text, place] : texts_) {
            place = rank++;
        }
    }

    std::uint64_t of(Values values) {
        const auto value = value_of(values);
        is_told_ = is_told_ || value.has_value();
        const bool largest_first = amount_.has_value();
        // What is not known comes last in either order.
        return !value ? UINT64_MAX : largest_first != order_.reversed ? ~*value : *value;
    }

    /// The column, where the dump has it of no process that of() was called for.
    [[nodiscard]] std::optional<ProcessColumn> untold() const {
        return is_told_ ? std::nullopt : std::optional(order_.by);
    }

  private:
    /// Processes with a name or a label come first, the others by initial call.
    using Text = std::pair<int, std::string>;

    std::optional<Text> text_of(Values values) {
        const std::string& text = text_->of(values);
        if (initial_call_ && text.empty()) {
            return Text(1, initial_call_->of(values));
        }
        return text.empty() ? std::nullopt : std::optional(Text(0, text));
    }
    std::optional<std::uint64_t> value_of(Values values) {
        if (amount_) {
            return amount_->of(values);
        }
        if (!text_) {
            return values[owner_].value_or(0);
        }
        const auto text = text_of(values);
        return text ? std::optional(texts_.at(*text)) : std::nullopt;
    }

    ProcessOrder order_;
    std::size_t owner_ = 0;
    std::optional<ColumnAmount> amount_;
    std::optional<ColumnText> text_;
    std::optional<ColumnText> initial_call_;
    std::map<Text, std::uint64_t> texts_;
    bool is_told_ = false;
};

/// The rows that match, the first `limit` by their keys.
template <std::size_t kKeys>
Result<std::vector<std::uint64_t>> first_rows(Dump& dump, const ColumnSet& columns,
                                              std::span<SortKey> keys, Matchers& matches,
                                              std::uint64_t limit, std::uint64_t& matching) {
    using Ranked = std::pair<std::array<std::uint64_t, kKeys>, std::uint64_t>;
    FirstItems<Ranked, std::less<>> first(limit, {});
    RETURN_IF_ERROR(
        dump.processes().visit(columns.columns(), [&](std::uint64_t row, Values values) {
            if (matches(values)) {
                ++matching;
                Ranked ranked;
                std::ranges::transform(keys, ranked.first.begin(),
                                       [values](SortKey& key) { return key.of(values); });
                ranked.second = row;
                first.add(ranked);
            }
            return true;
        }));
    const auto ranked = first.take();
    std::vector<std::uint64_t> rows(ranked.size());
    std::ranges::transform(ranked, rows.begin(), &Ranked::second);
    return rows;
}

/// What is sorted by, or read to filter by, is shown.
ColumnChoice shown_columns(const ProcessQuery& query, const DumpForm& form) {
    ColumnChoice columns = query.columns;
    columns.add(read_columns(query.filters, query.sort, form));
    for (const auto& order : query.sort) {
        if (listed_column(order.by).shown == Shown::kOnRequest) {
            columns.add(order.by);
        }
    }
    return columns;
}

}  // namespace

Result<ProcessListing> ProcessListing::select(Dump& dump, const ProcessQuery& query) {
    const auto form = form_of(dump);
    ProcessListing listing(dump, query, shown_columns(query, form));
    const auto in_advance = read_columns(query.filters, query.sort, form);
    listing.processes_are_read_ = in_advance.reads_processes(form);
    listing.applications_are_read_ = in_advance.has(ProcessColumn::kApplication);
    RETURN_IF_ERROR(read_in_advance(dump, query.filters, query.sort, listing.values_));
    if (listing.choice_.has(ProcessColumn::kEts) && !in_advance.has(ProcessColumn::kEts)) {
        RETURN_IF_ERROR(listing.values_.read_tables());
    }
    ColumnSet columns;
    std::vector<SortKey> keys;
    keys.reserve(query.sort.size());
    for (const auto& order : query.sort) {
        keys.emplace_back(dump, order, listing.values_, columns);
    }
    Matchers matches(dump, query.filters, columns, listing.values_);
    listing.total_ = dump.processes().size();
    if (std::ranges::any_of(keys, &SortKey::needs_texts)) {
        RETURN_IF_ERROR(
            dump.processes().visit(columns.columns(), [&](std::uint64_t, Values values) {
                for (auto& key : keys) {
                    if (key.needs_texts()) {
                        key.gather(values);
                    }
                }
                return true;
            }));
        std::ranges::for_each(keys, &SortKey::rank_texts);
    }
    constexpr std::array kRank = {&first_rows<1>, &first_rows<2>, &first_rows<3>};
    static_assert(kRank.size() == kMostSortColumns);
    ASSIGN_OR_RETURN(listing.rows_, kRank.at(keys.size() - 1)(dump, columns, keys, matches,
                                                              query.limit, listing.matching_));
    listing.untold_ = matches.untold();
    for (const auto& key : keys) {
        // By memory unless another order is asked for.
        const auto untold = key.untold();
        if (listing.matching_ != 0 && untold && *untold != ProcessColumn::kMemory) {
            return fail(
                ErrorCode::kNotFound,
                fmt::format("processes cannot be sorted by {}: the dump does not tell it of any "
                            "of them",
                            listed_column(*untold).asked.name));
        }
    }
    return listing;
}

Result<std::vector<ProcessLine>> ProcessListing::next(std::size_t most) {
    const std::size_t count = std::min({most, kMostLines, rows_.size() - given_});
    const auto numbers = std::span(rows_).subspan(given_, count);
    ASSIGN_OR_RETURN(auto rows, dump_->processes().rows(numbers));
    if (choice_.reads_processes(form_of(*dump_)) && !processes_are_read_) {
        RETURN_IF_ERROR(values_.read_processes(numbers));
    }
    if (choice_.has(ProcessColumn::kApplication) && !applications_are_read_) {
        std::set<std::uint64_t> owners;
        for (const auto& row : rows) {
            owners.insert(row.owner_id());
        }
        RETURN_IF_ERROR(values_.read_applications(owners));
    }
    given_ += count;
    std::vector<ProcessLine> lines;
    lines.reserve(count);
    for (const auto& row : rows) {
        lines.push_back(process_line(*dump_, row));
        values_.fill(row.owner_id(), lines.back());
    }
    if (names_) {
        ProcessNames(*dump_).add_to(lines, rows);
    }
    return lines;
}

}  // namespace beamdump::query
