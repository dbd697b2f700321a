#pragma once

#include "beam/fragments.h"
#include "beam/messages.h"
#include "capture/region_copier.h"

namespace beamdump::capture {

/// Writes one run (a process's, or the node's literals): its regions, packs and the pages of its
/// directory. Holds one page of the directory and one pack of each kind at a time.
class RunWriter {
  public:
    RunWriter(RegionCopier& copier, beam::Vm& vm, format::OwnerKind owner_kind,
              std::uint64_t owner_id)
        : copier_(copier), vm_(vm), owner_kind_(owner_kind), owner_id_(owner_id) {}

    /// Another run of the same owner, whose directory ends at that offset: this one goes on from
    /// it.
    void follow(std::uint64_t directory_offset) {
        directory_.set_previous_offset(directory_offset);
    }

    /// A region that is there, but not wanted.
    Result<void> left_out(format::RegionKind kind, const beam::Span& span);

    /// `off_heap`: first of the region's own list of off-heap things; 0: none.
    Result<void> region(format::RegionKind kind, const beam::Span& span, Address off_heap = 0);
    /// A heap fragment: packed with others if it is small, else a region.
    Result<void> fragment(format::RegionKind kind, const beam::Fragment& fragment);
    Result<void> message(beam::QueueEntry& entry);
    Result<void> relations(const records::Relations& page);

    /// Flushes what is held back; gives the directory's last page.
    Result<records::RunDirectory> finish();

    [[nodiscard]] std::uint64_t words() const { return words_; }
    [[nodiscard]] bool unreadable() const { return unreadable_; }
    [[nodiscard]] std::uint64_t queue_entries() const { return entries_; }

  private:
    Result<void> pack_words(const beam::Fragment& fragment, format::RegionKind kind,
                            records::PackedRegion& into);
    Result<void> external(const beam::QueueEntry& entry, records::External& into);
    Result<void> external_part(const beam::Span& part, records::External& into);
    Result<void> flush_regions();
    Result<void> flush_messages();
    Result<void> referenced();
    static void widen(records::PackRef& ref, Address begin, std::uint64_t words);

    RegionCopier& copier_;
    beam::Vm& vm_;
    format::OwnerKind owner_kind_;
    std::uint64_t owner_id_;

    records::RunDirectory directory_;
    std::size_t references_ = 0;
    records::PackedRegions regions_;
    records::PackRef regions_ref_;
    std::size_t regions_bytes_ = 0;
    records::Messages messages_;
    records::PackRef messages_ref_;
    std::size_t messages_bytes_ = 0;
    std::uint64_t entries_ = 0;
    std::uint64_t words_ = 0;
    bool unreadable_ = false;
};

}  // namespace beamdump::capture
