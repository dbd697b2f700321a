#pragma once

#include "beam/fragments.h"
#include "beam/messages.h"
#include "memory/memory_source.h"
#include "memory/present_pages.h"

#include <libdump/write/dump_writer.h>

namespace beamdump::capture {

using memory::Address;

/// Copies regions of the target into the dump.
class RegionCopier {
  public:
    /// Non-owning. `pages` may be null: then every page counts as present (nothing is swapped out).
    RegionCopier(DumpWriter& writer, memory::MemorySource& source, memory::PresentPages* pages,
                 format::TermScheme scheme)
        : writer_(writer), source_(source), pages_(pages), scheme_(scheme) {}

    /// Called on what was read, before it is written.
    using Scrub = std::function<void(std::span<std::byte>)>;

    struct Request {
        format::OwnerKind owner_kind = format::OwnerKind::kUnknown;
        std::uint64_t owner_id = 0;
        format::RegionKind kind = format::RegionKind::kUnknown;
        format::RegionUnit unit = format::RegionUnit::kWords;
        Address address = 0;
        std::uint64_t total = 0;  ///< units
        const Scrub* scrub = nullptr;
    };

    /// Writes the region; hands a reference to each part: one where all is present, else one for
    /// each present part and each absent one between. An unreadable tail is marked, not an error.
    Result<void> copy(const Request& request,
                      const std::function<Result<void>(records::RegionRef&)>& placed);

    [[nodiscard]] DumpWriter& writer() { return writer_; }

    /// Asked after each MiB of a region; an error ends the copy. Null: nobody is asked.
    using Watch = std::function<Result<void>()>;
    void set_watch(const Watch* watch) { watch_ = watch; }

  private:
    Result<void> watch(std::size_t bytes);
    Result<void> copy_part(const Request& request, Address begin, std::uint64_t units,
                           const std::function<Result<void>(records::RegionRef&)>& placed);

    DumpWriter& writer_;
    memory::MemorySource& source_;
    memory::PresentPages* pages_;
    format::TermScheme scheme_;
    const Watch* watch_ = nullptr;
    std::size_t unwatched_ = 0;  // bytes since it was asked
};

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
    void set_scrub(const RegionCopier::Scrub* scrub) { scrub_ = scrub; }
    /// For bytes that are no words: undecoded messages.
    void set_bytes_scrub(const RegionCopier::Scrub* scrub) { bytes_scrub_ = scrub; }

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
    const RegionCopier::Scrub* scrub_ = nullptr;
    const RegionCopier::Scrub* bytes_scrub_ = nullptr;

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
