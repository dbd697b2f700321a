#include "query/processes/process_fields.h"

#include "query/process/process_names.h"

#include <libdump/model/owner_id.h>

#include <algorithm>
#include <utility>

namespace beamdump::query {

namespace {

constexpr std::array kInitialCall = {records::PROCESS_COLUMN_INITIAL_MODULE,
                                     records::PROCESS_COLUMN_INITIAL_FUNCTION,
                                     records::PROCESS_COLUMN_INITIAL_ARITY};

bool looks_at_names(const RowFilter& filter) {
    return !filter.column() || *filter.column() == static_cast<std::size_t>(ProcessField::kName);
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

FieldText::FieldText(Dump& dump, ProcessField field, ColumnSet& columns)
    : dump_(dump), field_(field) {
    switch (field) {
        case ProcessField::kPid:
            add(columns, std::array{records::PROCESS_COLUMN_OWNER_ID});
            break;
        case ProcessField::kName:
            add(columns, std::array{records::PROCESS_COLUMN_REGISTERED_NAME});
            break;
        case ProcessField::kInitialCall:
            add(columns, kInitialCall);
            break;
        case ProcessField::kCurrentFunction:
            add(columns, std::array{records::PROCESS_COLUMN_CURRENT_MODULE,
                                    records::PROCESS_COLUMN_CURRENT_FUNCTION,
                                    records::PROCESS_COLUMN_CURRENT_ARITY});
            break;
        case ProcessField::kStatus:
            add(columns, std::array{records::PROCESS_COLUMN_STATUS});
            break;
        case ProcessField::kState:
            add(columns, std::array{records::PROCESS_COLUMN_STATE_BITS});
            break;
        case ProcessField::kFlags:
            add(columns, std::array{records::PROCESS_COLUMN_FLAGS});
            break;
    }
}

FieldText::FieldText(Dump& dump, const std::array<Column, 3>& function, ColumnSet& columns)
    : dump_(dump), field_(ProcessField::kInitialCall) {
    add(columns, function);
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

void FieldText::add(ColumnSet& columns, std::span<const Column> wanted) {
    for (const Column column : wanted) {
        places_.push_back(columns.add(column));
    }
}

std::string FieldText::make(const Key& key) {
    if (!key[0]) {
        return {};
    }
    const std::uint64_t value = key[0].value_or(0);
    const auto first = static_cast<std::uint32_t>(value);
    switch (field_) {
        case ProcessField::kPid:
            return pid_text(value);
        case ProcessField::kName:
            return atom_text(dump_, first);
        case ProcessField::kStatus:
            return status_text(static_cast<records::ProcessStatus>(value)).value_or("");
        case ProcessField::kState:
            return flag_text(dump_, FlagWord::kState, value);
        case ProcessField::kFlags:
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

Result<ProcessLabels> labels_for(Dump& dump, const std::vector<RowFilter>& filters) {
    return std::ranges::any_of(filters, looks_at_names) ? ProcessNames(dump).labels()
                                                        : Result<ProcessLabels>();
}

Matcher::Matcher(Dump& dump, const RowFilter& filter, ColumnSet& columns,
                 const ProcessLabels& labels)
    : filter_(filter) {
    if (looks_at_names(filter)) {
        labels_ = &labels;
        owner_ = columns.add(records::PROCESS_COLUMN_OWNER_ID);
    }
    constexpr std::array kFields = {ProcessField::kPid,         ProcessField::kName,
                                    ProcessField::kInitialCall, ProcessField::kCurrentFunction,
                                    ProcessField::kStatus,      ProcessField::kState,
                                    ProcessField::kFlags};
    // A text is not looked for in flags.
    constexpr auto kSearched = static_cast<std::size_t>(ProcessField::kState);
    constexpr std::array kNumbers = {records::PROCESS_COLUMN_MEMORY_BYTES,
                                     records::PROCESS_COLUMN_REDUCTIONS,
                                     records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH,
                                     records::PROCESS_COLUMN_LINKED,
                                     records::PROCESS_COLUMN_MONITORED,
                                     records::PROCESS_COLUMN_MONITORED_BY};
    const auto column = filter.column();
    if (column && *column >= kFields.size()) {
        number_ = columns.add(kNumbers.at(*column - kFields.size()));
        needed_ = number_;
        return;
    }
    if (column && *column >= kSearched) {
        needed_ = columns.add(*column == kSearched ? records::PROCESS_COLUMN_STATE_BITS
                                                   : records::PROCESS_COLUMN_FLAGS);
    }
    for (const auto field : kFields) {
        const auto place = static_cast<std::size_t>(field);
        if (column ? *column == place : place < kSearched) {
            fields_.emplace_back(dump, field, columns);
            if (field == ProcessField::kInitialCall) {
                fields_.emplace_back(dump, kTranslatedCall, columns);
            }
        }
    }
}

bool Matcher::operator()(ProcessIndex::Values values) {
    if (needed_) {
        asked_ = true;
        if (!values[*needed_]) {
            return false;
        }
        told_ = true;
    }
    if (number_) {
        return filter_.passes_number(values[*number_].value_or(0));
    }
    const auto passes = [&](FieldText& field) { return filter_.passes_text(field.of(values)); };
    const auto* const label = label_of(values);
    // None of several names, or of two calls, may be the one that is not wanted.
    if (filter_.comparison() == Comparison::kUnequal) {
        return (label == nullptr || filter_.passes_text(*label)) &&
               std::ranges::all_of(fields_, passes);
    }
    return (label != nullptr && filter_.passes_text(*label)) ||
           std::ranges::any_of(fields_, passes);
}

std::string Matcher::column_name() const {
    return filter_.column() ? std::string(process_filter_columns()[*filter_.column()].name)
                            : std::string();
}

const std::string* Matcher::label_of(ProcessIndex::Values values) const {
    if (labels_ == nullptr) {
        return nullptr;
    }
    const auto label = labels_->find(values[owner_].value_or(0));
    return label == labels_->end() ? nullptr : &label->second;
}

Matchers::Matchers(Dump& dump, const std::vector<RowFilter>& filters, ColumnSet& columns,
                   const ProcessLabels& labels) {
    matchers_.reserve(filters.size());
    for (const RowFilter& filter : filters) {
        matchers_.emplace_back(dump, filter, columns, labels);
    }
}

std::string Matchers::untold() const {
    const auto untold = std::ranges::find_if(matchers_, &Matcher::is_untold);
    return untold == matchers_.end() ? std::string() : untold->column_name();
}

bool Matchers::operator()(ProcessIndex::Values values) {
    return std::ranges::all_of(matchers_, [values](Matcher& matcher) { return matcher(values); });
}

}  // namespace beamdump::query
