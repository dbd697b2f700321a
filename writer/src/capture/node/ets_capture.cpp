#include "capture/node/ets_capture.h"

#include "capture/copy/row_writer.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>
#include <libdump/write/record_pages.h>

#include <algorithm>
#include <optional>
#include <unistd.h>
#include <utility>
#include <vector>

namespace beamdump::capture {
namespace {

/// Writes the rows of one table: what the walk found untorn, and the binaries that they refer to.
class EtsRowsWriter {
  public:
    /// Non-owning. `moving`: the node runs, so that a later row may be where an earlier one was.
    EtsRowsWriter(beam::Vm& vm, RegionCopier& copier, BinaryStore& binaries, std::uint64_t table,
                  std::uint32_t epoch, bool moving);
    EtsRowsWriter(const EtsRowsWriter&) = delete;
    EtsRowsWriter& operator=(const EtsRowsWriter&) = delete;
    ~EtsRowsWriter() = default;

    /// As RowWriter::add().
    Result<bool> add(std::span<const beam::EtsRow> rows,
                     const std::function<Result<bool>()>& same) {
        return rows_.add(rows, same);
    }
    /// The last record, with what `about` says; the offsets of all of them.
    Result<std::vector<std::uint64_t>> finish(records::EtsRows about);

    [[nodiscard]] std::uint64_t rows() const { return rows_.rows(); }

  private:
    Result<void> write(RowWriter::Part part);

    DumpWriter& writer_;
    std::uint64_t table_;
    std::uint32_t epoch_;
    RowWriter rows_;
    records::EtsRows about_;  // what the next record says beside its rows
    std::vector<std::uint64_t> offsets_;
};

constexpr std::uint64_t kRowsOfARecord = std::uint64_t{1} << 20U;
constexpr std::uint64_t kRowsInMotion = std::uint64_t{1} << 16U;  // places held at a time

EtsRowsWriter::EtsRowsWriter(beam::Vm& vm, RegionCopier& copier, BinaryStore& binaries,
                             std::uint64_t table, std::uint32_t epoch, bool moving)
    : writer_(copier.writer()),
      table_(table),
      epoch_(epoch),
      rows_(vm, copier, binaries,
            {format::OwnerKind::kEtsTable, table, format::RegionKind::kEtsRow,
             moving ? kRowsInMotion : kRowsOfARecord},
            moving, [this](RowWriter::Part part) { return write(std::move(part)); }) {}

Result<void> EtsRowsWriter::write(RowWriter::Part part) {
    auto record = std::exchange(about_, {});
    record.set_table_index(table_);
    record.set_first_row(part.first_row);
    record.set_rows(part.rows);
    record.set_epoch(epoch_);
    record.set_binaries_before_offset(part.binaries_before_offset);
    *record.mutable_directory() = std::move(part.directory);
    ASSIGN_OR_RETURN(const auto offset, writer_.append(format::RecordKind::kEtsRows, record));
    offsets_.push_back(offset);
    return {};
}

Result<std::vector<std::uint64_t>> EtsRowsWriter::finish(records::EtsRows about) {
    about_ = std::move(about);
    about_.set_last(true);
    RETURN_IF_ERROR(rows_.flush());
    return std::move(offsets_);
}

/// How often the rows of a changing table are read, unless the table is large.
constexpr int kAttempts = 3;
constexpr std::uint64_t kMaxBytesReadAgain = std::uint64_t{16} << 20U;
/// Rows that a table may have beyond its counter: it grows, or deleted rows are still linked.
constexpr std::uint64_t kMoreRows = std::uint64_t{1} << 20U;
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 40U;

/// Processors of this machine as the runtime counts them (erl_misc_utils.c: configured ones).
std::optional<std::uint32_t> processors_here() {
    const auto count = ::sysconf(_SC_NPROCESSORS_CONF);
    return count > 0 ? std::optional(static_cast<std::uint32_t>(count)) : std::nullopt;
}

bool is_wanted(EtsRowsWanted wanted, std::uint64_t bytes) {
    return wanted == EtsRowsWanted::kFull ||
           (wanted == EtsRowsWanted::kSample && bytes <= kEtsSampleBytes);
}

}  // namespace

Result<void> EtsCapture::tables(const beam::Moving& moving, bool here) {
    auto reader = beam::EtsReader::open(vm_, here ? processors_here() : std::nullopt);
    auto list =
        reader ? reader->read(moving) : Result<beam::EtsTableList>(std::unexpected(reader.error()));
    if (!list) {
        if (list.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(list.error());
        }
        trailer_.add_warning("ETS tables are left out: " + list.error().message);
        return {};
    }
    reader_.emplace(std::move(*reader));
    for (auto& doubt : list->doubts) {
        trailer_.add_warning(std::move(doubt));
    }
    for (const auto& table : list->tables) {
        const auto& facts = table.facts;
        // The size is unknown: treat it as too large for a sample.
        tables_.push_back({table.address,
                           facts.has_bytes() ? facts.bytes() : kEtsSampleBytes + 1,
                           {facts.reference().begin(), facts.reference().end()},
                           {},
                           0,
                           false});
    }
    return write(list->tables);
}

Result<void> EtsCapture::write(const std::vector<beam::EtsTableView>& tables) {
    RecordPages<records::EtsTables> pages(copier_.writer(), format::RecordKind::kEtsTables,
                                          *trailer_.mutable_ets_tables_offset(),
                                          limits::kEtsTablesOfAPage);
    for (std::size_t index = 0; index < tables.size(); ++index) {
        RETURN_IF_ERROR(pages.add([&](records::EtsTables& page) {
            if (page.table_size() == 0) {
                page.set_first_index(index);
            }
            *page.add_table() = tables[index].facts;
        }));
    }
    return pages.finish(true);
}

bool EtsCapture::rows_left(EtsRowsWanted wanted) const {
    return std::ranges::any_of(tables_, [wanted](const Table& table) {
        return !table.whole && is_wanted(wanted, table.bytes);
    });
}

std::optional<beam::EtsTableView> EtsCapture::look(const Table& table) {
    vm_.forget();
    auto view = reader_->table(table.address);
    return view && std::ranges::equal(view->facts.reference(), table.reference)
               ? std::optional(std::move(*view))
               : std::nullopt;
}

Result<void> EtsCapture::rows(EtsRowsWanted wanted, const Pass& pass, BinaryStore& binaries) {
    if (!rows_left(wanted)) {
        return {};
    }
    auto usable = RowWriter::check(vm_);
    if (usable && vm_.facts().schedulers == 1 && !one_scheduler_) {
        auto one = beam::EtsOneScheduler::open(vm_);
        usable = one ? Result<void>() : std::unexpected(one.error());
        if (one) {
            one_scheduler_.emplace(std::move(*one));
        }
    }
    if (!usable) {
        trailer_.add_warning("rows of ETS tables are left out: " + usable.error().message);
        return {};
    }
    for (std::size_t index = 0; index < tables_.size(); ++index) {
        const auto& table = tables_[index];
        if (table.whole || !is_wanted(wanted, table.bytes)) {
            continue;
        }
        RETURN_IF_ERROR(table_rows(index, pass, binaries));
    }
    return {};
}

Result<void> EtsCapture::table_rows(std::size_t index, const Pass& pass, BinaryStore& binaries) {
    auto& table = tables_[index];
    const auto attempts = pass.moving && table.bytes <= kMaxBytesReadAgain ? kAttempts : 1;
    for (int number = 1; number <= attempts && !table.whole; ++number) {
        const auto view = look(table);
        if (!view) {
            table.whole = true;
            if (table.records.empty()) {
                EtsRowsWriter writer(vm_, copier_, binaries, index, pass.epoch, pass.moving);
                records::EtsRows about;
                about.set_gone(true);
                ASSIGN_OR_RETURN(table.records, writer.finish(std::move(about)));
            }
            return {};
        }
        RETURN_IF_ERROR(attempt(index, *view, pass, binaries));
        ASSIGN_OR_RETURN(const auto go_on, pass.go_on());
        if (!go_on) {
            return {};
        }
    }
    return {};
}

Result<void> EtsCapture::attempt(std::size_t index, const beam::EtsTableView& view,
                                 const Pass& pass, BinaryStore& binaries) {
    auto& table = tables_[index];
    ASSIGN_OR_RETURN(auto walk, beam::EtsWalk::open(vm_));
    beam::EtsWalk::Request request;
    request.table = table.address;
    request.status = view.status;
    request.compressed = view.facts.compressed();
    request.most_rows = view.facts.has_rows() ? view.facts.rows() * 2 + kMoreRows : kMostRows;
    request.how.moving = pass.moving;
    request.how.validate = pass.validate;
    const bool is_public = view.facts.protection() == records::ETS_PROTECTION_PUBLIC;
    std::optional<beam::EtsQuiet> quiet;
    EtsRowsWriter writer(vm_, copier_, binaries, index, pass.epoch, pass.moving);
    records::EtsRows about;
    if (!one_scheduler_) {
        request.how.table_lock = table.address + reader_->fields().lock.offset;
    } else if (pass.moving) {
        quiet.emplace(one_scheduler_->quiet(view.owner_word, is_public));
        request.how.quiet = &*quiet;
    } else if (pass.validate) {
        ASSIGN_OR_RETURN(const auto doubtful,
                         one_scheduler_->may_be_written(view.owner_word, is_public));
        if (doubtful) {
            about.set_locked(view.facts.rows());
            if (table.records.empty()) {
                ASSIGN_OR_RETURN(table.records, writer.finish(std::move(about)));
            }
            return {};
        }
    }
    ASSIGN_OR_RETURN(const auto counts, walk.walk(
                                            request,
                                            [&](std::span<const beam::EtsRow> rows,
                                                const std::function<Result<bool>()>& same) {
                                                return writer.add(rows, same);
                                            },
                                            pass.go_on));
    about.set_locked(counts.locked);
    about.set_changed(counts.changed);
    about.set_unreadable(counts.broken);
    about.set_deleted(counts.deleted);
    about.set_resized(counts.resized);
    about.set_cut_off(counts.stopped);
    const auto after = look(table);
    about.set_gone(!after);
    if (after && after->facts.has_rows()) {
        about.set_counted(after->facts.rows());
    }
    const bool whole = counts.locked + counts.changed + counts.broken == 0 && !counts.resized &&
                       !counts.stopped && after.has_value();
    ASSIGN_OR_RETURN(auto records, writer.finish(std::move(about)));
    if (whole || table.records.empty() || writer.rows() > table.rows) {
        table.records = std::move(records);
        table.rows = writer.rows();
        table.whole = whole;
    }
    return {};
}

void EtsCapture::finish() {
    for (const auto& table : tables_) {
        trailer_.mutable_ets_rows_offset()->Add(table.records.begin(), table.records.end());
    }
}

}  // namespace beamdump::capture
