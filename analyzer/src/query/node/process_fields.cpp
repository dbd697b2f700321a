#include "query/node/process_fields.h"

#include "query/process/process_names.h"

#include <libdump/model/owner_id.h>

#include <algorithm>
#include <utility>

namespace beamdump::query {

namespace {

constexpr std::array kInitialCall = {records::PROCESS_COLUMN_INITIAL_MODULE,
                                     records::PROCESS_COLUMN_INITIAL_FUNCTION,
                                     records::PROCESS_COLUMN_INITIAL_ARITY};

bool looks_at_names(const ProcessFilter& filter) {
    return filter.field == FilterField::kAny || filter.field == FilterField::kName;
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

FieldText::FieldText(Dump& dump, FilterField field, ColumnSet& columns)
    : dump_(dump), field_(field) {
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

FieldText::FieldText(Dump& dump, const std::array<Column, 3>& function, ColumnSet& columns)
    : dump_(dump), field_(FilterField::kInitialCall) {
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

Result<ProcessLabels> labels_for(Dump& dump, const std::vector<ProcessFilter>& filters) {
    return std::ranges::any_of(filters, looks_at_names) ? ProcessNames(dump).labels()
                                                        : Result<ProcessLabels>();
}

Matcher::Matcher(Dump& dump, ProcessFilter filter, ColumnSet& columns, const ProcessLabels& labels)
    : text_(std::move(filter.text)) {
    if (looks_at_names(filter)) {
        labels_ = &labels;
        owner_ = columns.add(records::PROCESS_COLUMN_OWNER_ID);
    }
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

bool Matcher::operator()(ProcessIndex::Values values) {
    if (labels_ != nullptr) {
        const auto label = labels_->find(values[owner_].value_or(0));
        if (label != labels_->end() && label->second.find(text_) != std::string::npos) {
            return true;
        }
    }
    return std::ranges::any_of(fields_, [&](FieldText& field) {
        return field.of(values).find(text_) != std::string::npos;
    });
}

Matchers::Matchers(Dump& dump, const std::vector<ProcessFilter>& filters, ColumnSet& columns,
                   const ProcessLabels& labels) {
    matchers_.reserve(filters.size());
    for (const ProcessFilter& filter : filters) {
        matchers_.emplace_back(dump, filter, columns, labels);
    }
}

bool Matchers::operator()(ProcessIndex::Values values) {
    return std::ranges::all_of(matchers_, [values](Matcher& matcher) { return matcher(values); });
}

}  // namespace beamdump::query
