#pragma once

#include "query/processes/processes.h"

#include <libdump/model/process_index.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace beamdump::query {

/// The columns that a query reads, and the index of each.
class ColumnSet {
  public:
    using Column = records::ProcessColumnKind;

    std::size_t add(Column column);
    [[nodiscard]] std::span<const Column> columns() const { return columns_; }

  private:
    std::vector<Column> columns_;
};

/// What proc_lib keeps: module, function, arity.
inline constexpr std::array kTranslatedCall = {records::PROCESS_COLUMN_TRANSLATED_MODULE,
                                               records::PROCESS_COLUMN_TRANSLATED_FUNCTION,
                                               records::PROCESS_COLUMN_TRANSLATED_ARITY};

/// One field as text, from its columns. Caches the text of each value, up to a limit.
class FieldText {
  public:
    using Column = ColumnSet::Column;
    using Values = ProcessIndex::Values;

    FieldText(Dump& dump, ProcessField field, ColumnSet& columns);
    /// A function in columns of its own: module, function, arity.
    FieldText(Dump& dump, const std::array<Column, 3>& function, ColumnSet& columns);

    /// Empty if unknown.
    const std::string& of(Values values);

  private:
    using Key = std::array<std::optional<std::uint64_t>, 3>;
    static constexpr std::size_t kTextsHeld = 16384;

    void add(ColumnSet& columns, std::span<const Column> wanted);
    std::string make(const Key& key);

    Dump& dump_;
    ProcessField field_;
    std::vector<std::size_t> places_;
    std::map<Key, std::string> texts_;
};

/// Names that dictionaries have for processes, by owner ids (ProcessNames::labels()).
using ProcessLabels = std::unordered_map<std::uint64_t, std::string>;

/// The labels, if a filter looks at names; else none.
Result<ProcessLabels> labels_for(Dump& dump, const std::vector<RowFilter>& filters);

/// Whether a row passes one filter.
class Matcher {
  public:
    Matcher(Dump& dump, const RowFilter& filter, ColumnSet& columns, const ProcessLabels& labels);

    bool operator()(ProcessIndex::Values values);

    /// Whether it was asked, and the dump has its column of no process that it was asked of.
    [[nodiscard]] bool is_untold() const { return asked_ && !told_; }
    /// Of its filter; empty: any.
    [[nodiscard]] std::string column_name() const;

  private:
    /// Null where it has none, or names are not looked at.
    [[nodiscard]] const std::string* label_of(ProcessIndex::Values values) const;

    RowFilter filter_;
    std::vector<FieldText> fields_;
    std::optional<std::size_t> number_;  ///< the column of a filter of numbers
    std::optional<std::size_t> needed_;  ///< a column without which nothing passes
    bool asked_ = false;
    bool told_ = false;
    const ProcessLabels* labels_ = nullptr;  ///< non-owning; null: names are not looked at
    std::size_t owner_ = 0;                  ///< the column of owner ids
};

/// ... all of them.
class Matchers {
  public:
    /// The labels must outlive it.
    Matchers(Dump& dump, const std::vector<RowFilter>& filters, ColumnSet& columns,
             const ProcessLabels& labels);

    bool operator()(ProcessIndex::Values values);

    /// The column of the first filter that is untold (Matcher::is_untold()); empty: none is.
    [[nodiscard]] std::string untold() const;

  private:
    std::vector<Matcher> matchers_;
};

}  // namespace beamdump::query
