#include "query/processes/process_fields.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/node_scheme.h>
#include <libdump/model/owner_id.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace beamdump::query {

namespace {

using Values = ProcessIndex::Values;

const std::string& no_text() {
    static const std::string none;
    return none;
}

bool looks_at_names(const RowFilter& filter) {
    return column_of(filter).value_or(ProcessColumn::kName) == ProcessColumn::kName;
}

}  // namespace

std::size_t ColumnSet::add(Column column) {
    const auto known = std::ranges::find(columns_, column);
    if (known != columns_.end()) {
        return static_cast<std::size_t>(known - columns_.begin());
    }
    columns_.push_back(column);
    return columns_.size() - 1;
}

FieldText::FieldText(Dump& dump, ProcessColumn column, ColumnSet& columns)
    : FieldText(dump, listed_column(column).index, columns) {
    column_ = column;
}

FieldText::FieldText(Dump& dump, const IndexColumns& function, ColumnSet& columns)
    : dump_(dump), column_(ProcessColumn::kInitialCall) {
    for (const auto column : function) {
        if (column != records::PROCESS_COLUMN_UNKNOWN) {
            places_.push_back(columns.add(column));
        }
    }
}

const std::string& FieldText::of(Values values) {
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

std::string FieldText::make(const Key& key) {
    if (!key[0]) {
        return {};
    }
    const std::uint64_t value = key[0].value_or(0);
    const auto first = static_cast<std::uint32_t>(value);
    switch (column_) {
        case ProcessColumn::kPid:
            return pid_text(value);
        case ProcessColumn::kName:
            return atom_text(dump_, first);
        case ProcessColumn::kStatus:
            return status_text(static_cast<records::ProcessStatus>(value)).value_or("");
        case ProcessColumn::kState:
            return flag_text(dump_, FlagWord::kState, value);
        case ProcessColumn::kFlags:
            return flag_text(dump_, FlagWord::kProcess, value);
        default:
            break;
    }
    if (!key[1] || !key[2]) {
        return {};
    }
    return function_text(dump_, {first, static_cast<std::uint32_t>(key[1].value_or(0)),
                                 static_cast<std::uint32_t>(key[2].value_or(0))});
}

ColumnText::ColumnText(Dump& dump, ProcessColumn column, ColumnSet& columns,
                       const ProcessValues& read)
    : read_(&read), column_(column), owner_(columns.add(records::PROCESS_COLUMN_OWNER_ID)) {
    if (column == ProcessColumn::kInitialCall) {
        fields_.emplace_back(dump, kTranslatedCall, columns);
    }
    if (column != ProcessColumn::kApplication) {
        fields_.emplace_back(dump, column, columns);
    }
}

const std::string* ColumnText::read_text(Values values) const {
    const auto owner = values[owner_].value_or(0);
    return column_ == ProcessColumn::kApplication ? read_->application(owner)
           : column_ == ProcessColumn::kName      ? read_->label(owner)
                                                  : nullptr;
}

const std::string& ColumnText::of(Values values) {
    for (FieldText& field : fields_) {
        if (const std::string& text = field.of(values); !text.empty()) {
            return text;
        }
    }
    const auto* const text = read_text(values);
    return text == nullptr ? no_text() : *text;
}

bool ColumnText::any_of(Values values, const std::function<bool(const std::string&)>& passes) {
    const auto* const text = read_text(values);
    const bool none = fields_.empty() && text == nullptr;
    return (text != nullptr && passes(*text)) || (none && passes(no_text())) ||
           std::ranges::any_of(fields_, [&](FieldText& field) { return passes(field.of(values)); });
}

ColumnAmount::ColumnAmount(Dump& dump, ProcessColumn column, ColumnSet& columns,
                           const ProcessValues& read)
    : read_(&read),
      column_(column),
      indexed_(is_indexed(column, form_of(dump))),
      place_(columns.add(indexed_ ? listed_column(column).index.front()
                                  : records::PROCESS_COLUMN_OWNER_ID)),
      factor_(listed_column(column).in_words ? node_word_bytes(dump) : 1) {}

std::optional<std::uint64_t> ColumnAmount::of(Values values) const {
    const auto value =
        indexed_ ? values[place_] : read_->amount(column_, values[place_].value_or(0));
    return value ? std::optional(*value * factor_) : std::nullopt;
}

Result<void> read_in_advance(Dump& dump, const std::vector<RowFilter>& filters,
                             std::span<const ProcessOrder> orders, ProcessValues& values) {
    if (std::ranges::any_of(filters, looks_at_names) ||
        std::ranges::find(orders, ProcessColumn::kName, &ProcessOrder::by) != orders.end()) {
        RETURN_IF_ERROR(values.read_labels());
    }
    const auto form = form_of(dump);
    const auto wanted = read_columns(filters, orders, form);
    if (wanted.has(ProcessColumn::kEts)) {
        RETURN_IF_ERROR(values.read_tables());
    }
    const bool applications = wanted.has(ProcessColumn::kApplication);
    if (!wanted.reads_processes(form) && !applications) {
        return {};
    }
    std::vector<RowFilter> of_index;
    std::ranges::copy_if(filters, std::back_inserter(of_index), [&](const RowFilter& filter) {
        return is_indexed(column_of(filter).value_or(ProcessColumn::kPid), form);
    });
    ColumnSet columns;
    const auto owner = columns.add(records::PROCESS_COLUMN_OWNER_ID);
    Matchers matches(dump, of_index, columns, values);
    std::vector<std::uint64_t> numbers;
    std::set<std::uint64_t> owners;
    RETURN_IF_ERROR(dump.processes().visit(columns.columns(), [&](std::uint64_t row, Values found) {
        if (matches(found)) {
            numbers.push_back(row);
            if (applications) {
                owners.insert(found[owner].value_or(0));
            }
        }
        return true;
    }));
    if (applications) {
        RETURN_IF_ERROR(values.read_applications(owners));
    }
    return wanted.reads_processes(form) ? values.read_processes(numbers) : Result<void>();
}

Matcher::Matcher(Dump& dump, const RowFilter& filter, ColumnSet& columns, const ProcessValues& read)
    : filter_(filter) {
    const auto column = column_of(filter);
    if (!column) {
        for (const auto& listed : listed_columns()) {
            if (listed.searched) {
                texts_.emplace_back(dump, listed.column, columns, read);
            }
        }
        return;
    }
    if (listed_column(*column).amount != nullptr) {
        amount_.emplace(dump, *column, columns, read);
        return;
    }
    if (*column == ProcessColumn::kState || *column == ProcessColumn::kFlags) {
        needed_ = columns.add(listed_column(*column).index.front());
    }
    texts_.emplace_back(dump, *column, columns, read);
}

bool Matcher::operator()(Values values) {
    if (amount_ || needed_) {
        asked_ = true;
        const auto value = amount_ ? amount_->of(values) : values[*needed_];
        if (!value) {
            return false;
        }
        told_ = true;
        if (amount_) {
            return filter_.passes_number(*value);
        }
    }
    // None of several names, or of two calls, may be the one that is not wanted.
    const bool unequal = filter_.comparison() == Comparison::kUnequal;
    const auto decides = [&](const std::string& text) {
        return filter_.passes_text(text) != unequal;
    };
    return std::ranges::any_of(
               texts_, [&](ColumnText& text) { return text.any_of(values, decides); }) != unequal;
}

std::string Matcher::column_name() const {
    return filter_.column() ? std::string(process_filter_columns()[*filter_.column()].name)
                            : std::string();
}

Matchers::Matchers(Dump& dump, const std::vector<RowFilter>& filters, ColumnSet& columns,
                   const ProcessValues& read) {
    matchers_.reserve(filters.size());
    for (const RowFilter& filter : filters) {
        matchers_.emplace_back(dump, filter, columns, read);
    }
}

std::string Matchers::untold() const {
    const auto untold = std::ranges::find_if(matchers_, &Matcher::is_untold);
    return untold == matchers_.end() ? std::string() : untold->column_name();
}

bool Matchers::operator()(Values values) {
    return std::ranges::all_of(matchers_, [values](Matcher& matcher) { return matcher(values); });
}

}  // namespace beamdump::query
