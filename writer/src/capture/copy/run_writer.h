#pragma once

#include "capture/copy/region_copier.h"

#include <libdump/write/run_record_writer.h>
#include <libvm/beam/processes/messages.h>

#include <utility>

namespace beamdump::capture {

/// Reads what belongs to one run (a process's, or the node's literals) and writes it: regions
/// straight into the dump, small fragments and messages in packs.
class RunWriter {
  public:
    RunWriter(RegionCopier& copier, beam::Vm& vm, format::OwnerKind owner_kind,
              std::uint64_t owner_id)
        : copier_(copier),
          vm_(vm),
          owner_kind_(owner_kind),
          owner_id_(owner_id),
          records_(copier.writer()) {}

    /// Begins the run of another owner of the same kind.
    void begin(std::uint64_t owner_id) {
        owner_id_ = owner_id;
        records_.begin();
        words_ = 0;
        unreadable_ = false;
    }

    /// Another run of the same owner, whose directory ends at that offset: this one goes on from
    /// it.
    void follow(std::uint64_t directory_offset) { records_.follow(directory_offset); }

    /// Shows the words of regions and fragments to `observer` from here on; null: to nobody. Gives
    /// the one before.
    const RegionCopier::Observer* observe(const RegionCopier::Observer* observer) {
        return std::exchange(observer_, observer);
    }

    /// A region that is there, but not wanted.
    Result<void> left_out(format::RegionKind kind, const beam::Span& span);

    /// `off_heap`: first of the region's own list of off-heap things; 0: none.
    Result<void> region(format::RegionKind kind, const beam::Span& span, Address off_heap = 0);
    /// A heap fragment: packed with others if it is small, else a region.
    Result<void> fragment(format::RegionKind kind, const beam::Fragment& fragment);
    /// Writes the fragments that wait for others.
    Result<void> flush_fragments() { return records_.flush_regions(); }
    Result<void> message(beam::QueueEntry& entry);
    Result<void> relations(const records::Relations& page) { return records_.relations(page); }

    /// As RunRecordWriter's.
    Result<void> finish(records::RunDirectory& into) { return records_.finish(into); }
    Result<std::uint64_t> finish_as_record() { return records_.finish_as_record(); }

    [[nodiscard]] std::uint64_t words() const { return words_; }
    [[nodiscard]] bool unreadable() const { return unreadable_; }
    [[nodiscard]] std::uint64_t queue_entries() const { return records_.messages(); }

  private:
    Result<void> pack_words(const beam::Fragment& fragment, format::RegionKind kind,
                            records::PackedRegion& into);
    Result<void> external(const beam::QueueEntry& entry, records::External& into);
    Result<void> external_part(const beam::Span& part, records::External& into);

    RegionCopier& copier_;
    beam::Vm& vm_;
    format::OwnerKind owner_kind_;
    std::uint64_t owner_id_;

    RunRecordWriter records_;
    records::PackedRegion packed_;  // filled for each small fragment
    const RegionCopier::Observer* observer_ = nullptr;
    std::uint64_t words_ = 0;
    bool unreadable_ = false;
};

}  // namespace beamdump::capture
