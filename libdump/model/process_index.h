#pragma once

#include <libdump/base/error.h>
#include <libdump/model/recent_cache.h>
#include <libdump/read/dump_reader.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace beamdump {

/// The processes of a dump as rows and columns. Only the columns asked for are read, page by page.
/// A dump without index pages (a truncated one) is answered from recovered rows.
class ProcessIndex {
  public:
    using Column = records::ProcessColumnKind;
    /// One row's values of the columns asked for, in that order; nullopt if unknown.
    using Values = std::span<const std::optional<std::uint64_t>>;
    /// Called with row number and values; returns whether to continue.
    using Visit = std::function<bool(std::uint64_t row, Values values)>;

    /// Non-owning: must outlive the index.
    explicit ProcessIndex(DumpReader& reader);

    [[nodiscard]] std::uint64_t size() const { return rows_; }

    Result<void> visit(std::span<const Column> columns, const Visit& visit);

    /// Whole rows by number, in the order asked for. Each page concerned is read once.
    Result<std::vector<records::ProcessRow>> rows(std::span<const std::uint64_t> numbers);

    /// The first row whose value in `column` is `value`.
    Result<std::optional<std::uint64_t>> find(Column column, std::uint64_t value);

  private:
    struct Page {
        std::uint64_t first_row = 0;
        std::uint64_t rows = 0;
        std::vector<std::uint64_t> column_offset;
    };
    Result<std::vector<std::uint64_t>> read_column(const Page& page, Column column);
    Result<void> visit_page(const Page& page, std::span<const Column> columns, const Visit& visit,
                            bool& go_on);
    Result<void> fill_rows(const Page& page, std::span<const std::uint64_t> numbers,
                           std::span<const std::size_t> order,
                           std::vector<records::ProcessRow>& into);

    DumpReader& reader_;
    std::vector<Page> pages_;
    std::uint64_t rows_ = 0;
};

}  // namespace beamdump
