#pragma once

#include "capture/copy/binary_store.h"
#include "capture/node/capture_options.h"

#include <libvm/beam/ets/ets_quiet.h>
#include <libvm/beam/ets/ets_reader.h>

#include <functional>
#include <optional>

namespace beamdump::capture {

/// Writes the node's ETS tables. What could not be found or read is absent, with a warning: it
/// never fails a capture.
class EtsCapture {
  public:
    /// Non-owning.
    EtsCapture(beam::Vm& vm, RegionCopier& copier, records::Trailer& trailer)
        : vm_(vm), copier_(copier), trailer_(trailer) {}

    /// Facts of all tables. `here`: the node is on this machine.
    Result<void> tables(const beam::Moving& moving, bool here);

    /// How rows are read at this moment.
    struct Pass {
        bool moving = true;    ///< the node runs
        bool validate = true;  ///< see CaptureOptions
        std::uint32_t epoch = 0;
        /// Asked between groups of rows; false ends the pass.
        std::function<Result<bool>()> go_on;
    };
    /// Rows of the tables that `wanted` says, but for those that an earlier pass has read whole.
    Result<void> rows(EtsRowsWanted wanted, const Pass& pass, BinaryStore& binaries);
    /// Whether rows are wanted that no pass so far has read whole.
    [[nodiscard]] bool rows_left(EtsRowsWanted wanted) const;

    /// Tells the trailer of the rows.
    void finish();

  private:
    /// A table, and the best that a pass has read of it.
    struct Table {
        Address address = 0;
        std::uint64_t bytes = 0;
        std::vector<std::uint32_t> reference;
        std::vector<std::uint64_t> records;
        std::uint64_t rows = 0;
        bool whole = false;
    };
    Result<void> write(const std::vector<beam::EtsTableView>& tables);
    Result<void> table_rows(std::size_t index, const Pass& pass, BinaryStore& binaries);
    Result<void> attempt(std::size_t index, const beam::EtsTableView& view, const Pass& pass,
                         BinaryStore& binaries);
    /// The table as it is now; nothing if it is gone.
    std::optional<beam::EtsTableView> look(const Table& table);

    beam::Vm& vm_;
    RegionCopier& copier_;
    records::Trailer& trailer_;
    std::vector<Table> tables_;
    std::optional<beam::EtsReader> reader_;
    std::optional<beam::EtsOneScheduler> one_scheduler_;
};

}  // namespace beamdump::capture
