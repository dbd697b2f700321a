#include "query/node/processes.h"

#include "query/node/choice.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/process_row.h>
#include <libdump/model/owner_id.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace beamdump::query {

namespace {

using Column = records::ProcessColumnKind;
using Values = ProcessIndex::Values;

constexpr std::size_t kBatchRows = 65536;

/// The columns that one question reads, and each one's place among them.
class ColumnSet {
  public:
    std::size_t add(Column column) {
        const auto known = std::ranges::find(columns_, column);
        if (known != columns_.end()) {
            return static_cast<std::size_t>(known - columns_.begin());
        }
        columns_.push_back(column);
        return columns_.size() - 1;
    }
    [[nodiscard]] std::span<const Column> columns() const { return columns_; }

  private:
    std::vector<Column> columns_;
};

constexpr std::array kInitialCall = {records::PROCESS_COLUMN_INITIAL_MODULE,
                                     records::PROCESS_COLUMN_INITIAL_FUNCTION,
                                     records::PROCESS_COLUMN_INITIAL_ARITY};
/// What proc_lib keeps.
constexpr std::array kTranslatedCall = {records::PROCESS_COLUMN_TRANSLATED_MODULE,
                                        records::PROCESS_COLUMN_TRANSLATED_FUNCTION,
                                        records::PROCESS_COLUMN_TRANSLATED_ARITY};

/// One field as text, from the columns that make it up. Texts are made once for each different
/// value, as long as there are not too many of them.
class FieldText {
  public:
    FieldText(Dump& dump, FilterField field, ColumnSet& columns) : dump_(dump), field_(field) {
        switch (field) {
            case FilterField::kPid:
                add(columns, std::array{records::PROCESS_COLUMN_OWNER_ID});
                break;
            case FilterField::kName:
                add(columns, std::array{records::PROCESS_COLUMN_REGISTERED_NAME});
                break;
            case FilterField::kInitialCall:
                add(columns, kInitialCall);
                break;
            case FilterField::kCurrentFunction:
                add(columns, std::array{records::PROCESS_COLUMN_CURRENT_MODULE,
                                        records::PROCESS_COLUMN_CURRENT_FUNCTION,
                                        records::PROCESS_COLUMN_CURRENT_ARITY});
                break;
            case FilterField::kStatus:
                add(columns, std::array{records::PROCESS_COLUMN_STATUS});
                break;
            case FilterField::kAny:
                break;
        }
    }

    /// A function in columns of its own: module, function, arity.
    FieldText(Dump& dump, const std::array<Column, 3>& function, ColumnSet& columns)
        : dump_(dump), field_(FilterField::kInitialCall) {
        add(columns, function);
    }

    /// Empty where unknown.
    const std::string& of(Values values) {
        Key key;
        for (std::size_t i = 0; i < places_.size(); ++i) {
            key[i] = values[places_[i]];
        }
        if (const auto known = texts_.find(key); known != texts_.end()) {
            return known->second;
        }
        if (texts_.size() >= kTextsHeld) {
            texts_.clear();
        }
        return texts_.emplace(key, make(key)).first->second;
    }

  private:
    using Key = std::array<std::optional<std::uint64_t>, 3>;
    static constexpr std::size_t kTextsHeld = 16384;

    void add(ColumnSet& columns, std::span<const Column> wanted) {
        for (const Column column : wanted) {
            places_.push_back(columns.add(column));
        }
    }

    std::string make(const Key& key) {
        if (!key[0]) {
            return {};
        }
        const std::uint64_t value = key[0].value_or(0);
        const auto first = static_cast<std::uint32_t>(value);
        switch (field_) {
            case FilterField::kPid:
                return pid_text(value);
            case FilterField::kName:
                return atom_text(dump_, first);
            case FilterField::kStatus:
                return status_text(static_cast<records::ProcessStatus>(value)).value_or("");
            default:
                break;
        }
        if (!key[1] || !key[2]) {
            return {};
        }
        return function_text(dump_, {first, static_cast<std::uint32_t>(key[1].value_or(0)),
                                     static_cast<std::uint32_t>(key[2].value_or(0))});
    }

    Dump& dump_;
    FilterField field_;
    std::vector<std::size_t> places_;
    std::map<Key, std::string> texts_;
};

/// Whether a row passes one filter.
class Matcher {
  public:
    Matcher(Dump& dump, ProcessFilter filter, ColumnSet& columns) : text_(std::move(filter.text)) {
        for (const auto field : {FilterField::kPid, FilterField::kName, FilterField::kInitialCall,
                                 FilterField::kCurrentFunction, FilterField::kStatus}) {
            if (filter.field == FilterField::kAny || filter.field == field) {
                fields_.emplace_back(dump, field, columns);
            }
        }
        if (filter.field == FilterField::kAny || filter.field == FilterField::kInitialCall) {
            fields_.emplace_back(dump, kTranslatedCall, columns);
        }
    }

    bool operator()(Values values) {
        return std::ranges::any_of(fields_, [&](FieldText& field) {
            return field.of(values).find(text_) != std::string::npos;
        });
    }

  private:
    std::string text_;
    std::vector<FieldText> fields_;
};

/// A row and what it sorts by: the smallest key stands first.
using Ranked = std::pair<std::uint64_t, std::uint64_t>;

/// Keeps the `limit` rows that stand first, in memory for twice as many.
class FirstRows {
  public:
    explicit FirstRows(std::uint64_t limit) : limit_(limit) {}

    void add(Ranked row) {
        kept_.push_back(row);
        if (limit_ != 0 && kept_.size() / 2 >= limit_) {
            cut();
        }
    }

    std::vector<std::uint64_t> take() {
        if (limit_ != 0 && kept_.size() > limit_) {
            cut();
        }
        std::ranges::sort(kept_);
        std::vector<std::uint64_t> rows(kept_.size());
        std::ranges::transform(kept_, rows.begin(), &Ranked::second);
        return rows;
    }

  private:
    void cut() {
        const auto middle = kept_.begin() + static_cast<std::ptrdiff_t>(limit_);
        std::ranges::nth_element(kept_, middle);
        kept_.erase(middle, kept_.end());
    }

    std::uint64_t limit_;
    std::vector<Ranked> kept_;
};

/// What rows sort by, from their columns.
class SortKey {
  public:
    SortKey(Dump& dump, ProcessSort sort, ColumnSet& columns) : sort_(sort) {
        switch (sort) {
            case ProcessSort::kMemory:
                place_ = columns.add(records::PROCESS_COLUMN_MEMORY_BYTES);
                break;
            case ProcessSort::kReductions:
                place_ = columns.add(records::PROCESS_COLUMN_REDUCTIONS);
                break;
            case ProcessSort::kQueue:
                place_ = columns.add(records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH);
                break;
            case ProcessSort::kPid:
                place_ = columns.add(records::PROCESS_COLUMN_OWNER_ID);
                break;
            case ProcessSort::kName:
                name_.emplace(dump, FilterField::kName, columns);
                initial_call_.emplace(dump, FilterField::kInitialCall, columns);
                translated_call_.emplace(dump, kTranslatedCall, columns);
                break;
        }
    }

    /// First pass of a sort by name: gathers the different names.
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
            return names_.at(name_of(values));
        }
        const std::uint64_t value = values[place_].value_or(0);
        return sort_ == ProcessSort::kPid ? value : ~value;
    }

    [[nodiscard]] bool needs_names() const { return sort_ == ProcessSort::kName; }

  private:
    /// Registered ones stand first, the others by what they were started with.
    using Name = std::pair<int, std::string>;
    Name name_of(Values values) {
        const std::string& name = name_->of(values);
        if (!name.empty()) {
            return {0, name};
        }
        const std::string& translated = translated_call_->of(values);
        return {1, translated.empty() ? initial_call_->of(values) : translated};
    }

    ProcessSort sort_;
    std::size_t place_ = 0;
    std::optional<FieldText> name_;
    std::optional<FieldText> initial_call_;
    std::optional<FieldText> translated_call_;
    std::map<Name, std::uint64_t> names_;
};

constexpr std::array<Named<FilterField>, 5> kFields = {
    {{"pid", FilterField::kPid},
     {"name", FilterField::kName},
     {"initial_call", FilterField::kInitialCall},
     {"current_function", FilterField::kCurrentFunction},
     {"status", FilterField::kStatus}}};

constexpr std::array<Named<ProcessSort>, 5> kSorts = {{{"memory", ProcessSort::kMemory},
                                                       {"reductions", ProcessSort::kReductions},
                                                       {"queue", ProcessSort::kQueue},
                                                       {"name", ProcessSort::kName},
                                                       {"pid", ProcessSort::kPid}}};

bool is_name_letter(char c) {
    return (c >= 'a' && c <= 'z') || c == '_';
}

}  // namespace

Result<ProcessFilter> parse_filter(std::string_view argument) {
    const auto equals = argument.find('=');
    const auto name = argument.substr(0, equals);
    const bool names_a_field = equals != std::string_view::npos && !name.empty() &&
                               std::ranges::all_of(name, [](char c) { return is_name_letter(c); });
    if (!names_a_field) {
        return ProcessFilter{FilterField::kAny, std::string(argument)};
    }
    ASSIGN_OR_RETURN(const auto field, parse_choice("field", name, kFields));
    ProcessFilter filter{field, std::string(argument.substr(equals + 1))};
    if (filter.field == FilterField::kStatus &&
        std::ranges::none_of(status_names(), [&filter](std::string_view status) {
            return status.find(filter.text) != std::string_view::npos;
        })) {
        return fail(ErrorCode::kUsage, unknown_value("status", filter.text, status_names()));
    }
    return filter;
}

Result<ProcessSort> parse_sort(std::string_view name) {
    return parse_choice("sort order", name, kSorts);
}

Result<ProcessListing> ProcessListing::select(Dump& dump, const ProcessQuery& query) {
    ColumnSet columns;
    SortKey key(dump, query.sort, columns);
    std::vector<Matcher> matchers;
    matchers.reserve(query.filters.size());
    for (const ProcessFilter& filter : query.filters) {
        matchers.emplace_back(dump, filter, columns);
    }
    const auto matches = [&matchers](Values values) {
        return std::ranges::all_of(matchers,
                                   [values](Matcher& matcher) { return matcher(values); });
    };
    ProcessListing listing(dump);
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
    FirstRows first(query.limit);
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
    listing.rows_ = first.take();
    return listing;
}

Result<std::vector<ProcessLine>> ProcessListing::next() {
    const std::size_t count = std::min(kBatchRows, rows_.size() - given_);
    ASSIGN_OR_RETURN(auto rows, dump_->processes().rows(std::span(rows_).subspan(given_, count)));
    given_ += count;
    std::vector<ProcessLine> lines;
    lines.reserve(count);
    for (const auto& row : rows) {
        lines.push_back(process_line(*dump_, row));
    }
    return lines;
}

}  // namespace beamdump::query
