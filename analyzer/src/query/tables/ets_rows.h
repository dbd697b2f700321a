#pragma once

#include "query/tables/ets_row_records.h"
#include "query/tables/ets_tables.h"
#include "query/term/term_text.h"

#include <functional>

namespace beamdump::query {

enum class EtsRowSort : std::uint8_t { kStored, kSize };

struct EtsRowsOptions {
    EtsRowSort sort = EtsRowSort::kStored;
    std::optional<std::string> key;  ///< only rows whose key reads as this text
    std::uint64_t limit = 20;        ///< 0: all
    std::size_t term_bytes = 0;      ///< of each row's text; 0: all
    bool keys = false;               ///< also the text of each row's key
    /// next_rows() and record_at() alone are called: records are read when these come to them.
    bool in_pieces = false;
};

/// stored or size. kUsage.
Result<EtsRowSort> parse_ets_row_sort(std::string_view name);

/// One row. Its text is valid while it is shown.
struct EtsRowLine {
    std::uint64_t words = 0;  ///< of the row's block, from its tuple on
    bool compressed = false;
    TermText row;                    ///< of a compressed table what is not compressed
    std::optional<std::string> key;  ///< its text, cut like that of the row, where it is asked for
};

/// What the dump says of a table's rows, beside them.
struct EtsRowCounts {
    std::uint64_t captured = 0;
    std::optional<std::uint64_t> counted;  ///< by the table, after they were read
    /// Met and kept though deleted, as long as the table is fixed; absent in older dumps.
    std::optional<std::uint64_t> deleted;
    std::uint64_t locked = 0;  ///< missing, by reason
    std::uint64_t changed = 0;
    std::uint64_t unreadable = 0;
    bool resized = false;
    bool cut_off = false;
    bool gone = false;

    [[nodiscard]] bool is_whole() const {
        return locked + changed + unreadable == 0 && !resized && !cut_off && !gone;
    }
};

/// The rows of one table. Memory: one record of them, and 40 bytes for each row that is sorted.
class EtsRowListing {
  public:
    /// `table`: its name or its reference. kNotFound: there is no such table, several have the
    /// name, or its rows were not captured.
    static Result<std::unique_ptr<EtsRowListing>> open(Dump& dump, const std::string& table,
                                                       const EtsRowsOptions& options);

    [[nodiscard]] const EtsTableLine& table() const { return table_; }
    /// In pieces: of the records so far, which are all after the last row.
    [[nodiscard]] const EtsRowCounts& counts() const { return counts_; }
    [[nodiscard]] const EtsRowsOptions& options() const { return options_; }

    /// A record's words and their text.
    struct Reader {
        Reader(TermContext& of_record, const TagScheme& scheme)
            : context(of_record), printer(of_record, scheme), words(of_record) {}
        TermContext& context;
        TermPrinter printer;
        WordReader words;
    };
    /// Tells each row's tuple, as a word, and the words of its block, as they stand, until `look`
    /// says that it needs no more. Of a compressed table nothing.
    using Look = std::function<bool(Reader& reader, const TagScheme& scheme, std::uint64_t row,
                                    std::uint64_t words)>;
    Result<void> each_tuple(const Look& look);
    /// Tells rows evenly spread over the captured ones, at most `rows` of them. Reads only the
    /// packs of rows that have one of these.
    Result<void> each_sampled(std::uint64_t rows, const Look& look);

    /// Shows the rows in order.
    using Show = std::function<void(const EtsRowLine&)>;
    Result<void> each(const Show& show);

    /// Shows the next rows, a few at first and then some hundreds, as they stand, whatever the
    /// options' order, key and limit. False after the last one.
    Result<bool> next_rows(const Show& show);

    /// A record, and how many rows of the table are in those before it.
    struct Record {
        std::uint64_t offset = 0;
        std::uint64_t first_row = 0;
        std::uint64_t rows = 0;
    };
    /// The one that has a row of the table, by its number from 0; absent where none does.
    Result<std::optional<Record>> record_at(std::uint64_t row);

    /// After each(): rows that match, and what in their texts could not be shown.
    [[nodiscard]] std::uint64_t matching() const { return matching_; }
    [[nodiscard]] std::uint64_t placeholders() const { return placeholders_; }

  private:
    EtsRowListing(Dump& dump, EtsTableLine table, EtsRowRecords unread, TagScheme scheme,
                  const EtsRowsOptions& options)
        : dump_(dump),
          table_(std::move(table)),
          scheme_(scheme),
          options_(options),
          unread_(std::move(unread)) {}

    /// False after the last record.
    Result<bool> read_record();

    using Place = EtsRowPlace;
    using Visit = std::function<bool(Reader& reader, std::uint64_t record_offset, Place place)>;
    /// All rows, as they stand; a visit says whether to go on.
    Result<void> visit(const Visit& visit);
    Result<bool> visit_record(std::uint64_t offset, const Visit& visit);
    Result<void> each_stored(const Show& show);
    Result<void> each_by_size(const Show& show);
    void show_row(Reader& reader, Place place, const Show& show);
    EtsRowLine line(Reader& reader, Place place);
    Result<bool> matches(Reader& reader, Place place);
    TermText compressed_text(Reader& reader, Place place);

    Dump& dump_;
    EtsTableLine table_;
    TagScheme scheme_;
    EtsRowsOptions options_;
    EtsRowCounts counts_;
    EtsRowRecords unread_;
    std::vector<Record> records_;
    /// Where next_rows() is: rows of records_[record] from `row` on.
    struct Reached {
        std::size_t record = 0;
        std::uint64_t row = 0;
        std::unique_ptr<EtsRowRecord> opened = {};
        std::unique_ptr<Reader> reader = {};
    };
    Reached reached_;
    std::uint64_t rows_at_a_time_ = 16;  ///< of next_rows(): a statement may end with a few
    std::uint64_t matching_ = 0;
    std::uint64_t placeholders_ = 0;
};

}  // namespace beamdump::query
