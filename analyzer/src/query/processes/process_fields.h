#pragma once

#include "query/processes/process_values.h"

#include <libdump/model/process_index.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace beamdump::query {

/// The columns of the process index that a query reads, and the place of each.
class ColumnSet {
  public:
    using Column = records::ProcessColumnKind;

    std::size_t add(Column column);
    [[nodiscard]] std::span<const Column> columns() const { return columns_; }

  private:
    std::vector<Column> columns_;
};

/// The text of a column from the process index. Caches the text of each value, up to a limit.
class FieldText {
  public:
    using Values = ProcessIndex::Values;

    FieldText(Dump& dump, ProcessColumn column, ColumnSet& columns);
    /// A function in columns of its own: module, function, arity.
    FieldText(Dump& dump, const IndexColumns& function, ColumnSet& columns);

    /// Empty if unknown.
    const std::string& of(Values values);

  private:
    using Key = std::array<std::optional<std::uint64_t>, 3>;
    static constexpr std::size_t kTextsHeld = 16384;

    std::string make(const Key& key);

    Dump& dump_;
    ProcessColumn column_;
    std::vector<std::size_t> places_;
    std::map<Key, std::string> texts_;
};

/// The text of a column, wherever it is. What was read must outlive it.
class ColumnText {
  public:
    ColumnText(Dump& dump, ProcessColumn column, ColumnSet& columns, const ProcessValues& read);

    /// The first of its texts that is known; empty: none is. An initial call is what proc_lib
    /// started, else what was spawned.
    [[nodiscard]] const std::string& of(ProcessIndex::Values values);
    /// Whether a text of it passes; an empty one where none is known.
    [[nodiscard]] bool any_of(ProcessIndex::Values values,
                              const std::function<bool(const std::string&)>& passes);

  private:
    /// Of what was read; null: none.
    [[nodiscard]] const std::string* read_text(ProcessIndex::Values values) const;

    const ProcessValues* read_;  // non-owning
    ProcessColumn column_;
    std::size_t owner_;
    std::vector<FieldText> fields_;
};

/// The amount of a column, in the unit that it is asked for in. What was read must outlive it.
class ColumnAmount {
  public:
    ColumnAmount(Dump& dump, ProcessColumn column, ColumnSet& columns, const ProcessValues& read);

    [[nodiscard]] std::optional<std::uint64_t> of(ProcessIndex::Values values) const;

  private:
    const ProcessValues* read_;  // non-owning
    ProcessColumn column_;
    bool indexed_;
    std::size_t place_;  ///< of the value, or of the owner id
    std::uint64_t factor_;
};

/// Reads in advance what filters and orders need beside the index, of the processes that the
/// filters let pass as far as the index tells.
Result<void> read_in_advance(Dump& dump, const std::vector<RowFilter>& filters,
                             std::span<const ProcessOrder> orders, ProcessValues& values);

/// Whether a row passes one filter.
class Matcher {
  public:
    Matcher(Dump& dump, const RowFilter& filter, ColumnSet& columns, const ProcessValues& read);

    bool operator()(ProcessIndex::Values values);

    /// Whether it was asked, and the dump has its column of no process that it was asked of.
    [[nodiscard]] bool is_untold() const { return asked_ && !told_; }
    /// Of its filter; empty: any.
    [[nodiscard]] std::string column_name() const;

  private:
    RowFilter filter_;
    std::vector<ColumnText> texts_;
    std::optional<ColumnAmount> amount_;
    std::optional<std::size_t> needed_;  ///< a column without which nothing passes
    bool asked_ = false;
    bool told_ = false;
};

/// ... all of them.
class Matchers {
  public:
    /// What was read must outlive it.
    Matchers(Dump& dump, const std::vector<RowFilter>& filters, ColumnSet& columns,
             const ProcessValues& read);

    bool operator()(ProcessIndex::Values values);

    /// The column of the first filter that is untold (Matcher::is_untold()); empty: none is.
    [[nodiscard]] std::string untold() const;

  private:
    std::vector<Matcher> matchers_;
};

}  // namespace beamdump::query
