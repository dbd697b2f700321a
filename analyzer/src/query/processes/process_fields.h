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

/// Whether a row passes one filter.
class Matcher {
  public:
    Matcher(Dump& dump, const RowFilter& filter, ColumnSet& columns);

    bool operator()(ProcessIndex::Values values);

  private:
    RowFilter filter_;
    std::vector<FieldText> fields_;
    std::optional<std::size_t> number_;  ///< the column of a filter of numbers
};

/// ... all of them.
class Matchers {
  public:
    Matchers(Dump& dump, const std::vector<RowFilter>& filters, ColumnSet& columns);

    bool operator()(ProcessIndex::Values values);

  private:
    std::vector<Matcher> matchers_;
};

}  // namespace beamdump::query
