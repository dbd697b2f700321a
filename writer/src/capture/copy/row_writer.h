#pragma once

#include "capture/copy/binary_store.h"
#include "capture/copy/disjoint_ranges.h"

#include <libdump/write/run_record_writer.h>
#include <libvm/beam/ets/ets_walk.h>
#include <libvm/beam/processes/shown_parts.h>

namespace beamdump::capture {

/// Writes rows that were found untorn, of an ETS table or persistent terms, and the binaries that
/// they refer to, in parts of which each ends with a record.
class RowWriter {
  public:
    /// Whose the rows are.
    struct Owner {
        format::OwnerKind kind = format::OwnerKind::kUnknown;
        std::uint64_t id = 0;
        format::RegionKind region = format::RegionKind::kUnknown;
        std::uint64_t most_rows = 0;  ///< of a part
    };
    /// Rows that were written; none of a part overlaps another.
    struct Part {
        std::uint64_t first_row = 0;
        std::uint64_t rows = 0;
        std::uint64_t binaries_before_offset = 0;
        records::RunDirectory directory;
    };
    /// Writes the record that ends a part.
    using Finish = std::function<Result<void>(Part)>;

    /// Non-owning. `moving`: the node runs, so that a later row may be where an earlier one was.
    RowWriter(beam::Vm& vm, RegionCopier& copier, BinaryStore& binaries, Owner owner, bool moving,
              Finish finish);
    static Result<void> check(beam::Vm& vm);

    /// False: what the rows refer to changed while it was copied; nothing of them was written.
    Result<bool> add(std::span<const beam::EtsRow> rows, const std::function<Result<bool>()>& same);
    /// Ends the part at hand.
    Result<void> flush();

    [[nodiscard]] std::uint64_t rows() const { return written_ + rows_; }

  private:
    struct Named {
        Address binary = 0;
        std::vector<beam::ShownPart> parts;
    };
    /// Binaries of a row's off-heap things, all of which are inside its words, and the parts of
    /// them that the row shows. False: they are not.
    [[nodiscard]] bool binaries_of(const beam::EtsRow& row, std::vector<Named>& into);
    Result<bool> add_binaries(const std::vector<Named>& named,
                              const std::function<Result<bool>()>& same);
    Result<void> begin_unless_free(const beam::EtsRow& row);
    Result<void> write(const beam::EtsRow& row);
    Result<void> write_region(const beam::EtsRow& row, std::span<std::byte> bytes);

    RegionCopier& copier_;
    BinaryStore& binaries_;
    Owner owner_;
    bool moving_;
    Finish finish_;
    beam::LayoutNames names_;
    beam::Field thing_, next_;
    beam::BinaryReferenceFields reference_;
    std::optional<beam::ShownParts> shown_;
    std::optional<RunRecordWriter> records_;
    std::uint64_t written_ = 0, rows_ = 0, words_ = 0, regions_ = 0, binaries_before_ = 0;
    DisjointRanges here_;  // of the rows in this part
    records::PackedRegion packed_;
};

}  // namespace beamdump::capture
