#pragma once

#include "capture/copy/address_map.h"
#include "capture/copy/kept_parts.h"
#include "capture/copy/run_writer.h"

#include <libvm/beam/tables/binaries.h>

#include <set>
#include <utility>

namespace beamdump::capture {

/// Writes every reference-counted binary once, however many owners name it, and the sorted index
/// that finds it again. While the node runs (moving()), memory that one process's binary left may
/// hold another's by the time it is named again: then each is examined again wherever it is named,
/// and written again if it is another. Of several at one address the one that counts for a process
/// is the last before the end of its run. So it is with a binary of which another owner shows other
/// parts: it is written again, with the parts that it was written with. Memory: two tables of
/// HeldSizes::binary_slots, and KeptParts of an eighth as many parts. When three quarters are used,
/// a sorted run of the index is written and the tables start anew: a binary that is named again
/// after that stands twice.
class BinaryStore {
  public:
    static Result<BinaryStore> open(beam::Vm& vm, RegionCopier& copier,
                                    std::optional<std::uint64_t> keep);

    /// Addresses of the types of NIF resources: what is a resource is written with its type.
    void know_resource_types(std::set<Address> types) {
        reader_.know_resource_types(std::move(types));
    }

    /// From here on the node runs while it is read, or no longer.
    void set_moving(bool moving) { moving_ = moving; }

    /// While the node runs, asked before binaries are written: an error, that of add() or settle(),
    /// says that their owner has changed since it named them. Memory that was freed meanwhile would
    /// pass for a binary of any size. Null: nobody is asked.
    using Watch = RegionCopier::Watch;
    void set_watch(const Watch* watch) { watch_ = watch; }

    /// Notes a binary, and the parts of it that its owner shows; writes a batch when enough are
    /// waiting.
    Result<void> add(Address binary, std::span<const beam::ShownPart> parts = {});

    /// Whether add() has a use for parts.
    [[nodiscard]] bool keeps_parts() const { return keep_.value_or(0) != 0; }

    /// Reads and writes all that wait, while they are what their owner meant.
    Result<void> settle();

    /// The copy of the process that named what waits is void: while the node runs, what it named
    /// means nothing any more.
    void drop();

    /// Writes what waits and the rest of the index.
    Result<void> finish(records::Trailer& trailer);

    /// The last of several binaries at one address counts, as for a reader of all.
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] std::uint64_t captured_bytes() const { return captured_bytes_; }
    /// Grows whenever a binary is written whose address may have named another.
    [[nodiscard]] std::uint64_t replaced() const { return times_replaced_; }
    [[nodiscard]] std::uint64_t unreadable() const { return reader_.unreadable(); }

  private:
    /// What a binary looked like when it was written.
    struct Look {
        std::uint64_t fingerprint = 0;  ///< 0: not known, the node did not run
        std::uint64_t bytes = 0;
    };
    /// What is known of a binary of the page at hand.
    struct OnPage {
        std::uint64_t fingerprint = 0;  ///< while the node runs
        KeptParts::Written parts;
        bool same = false;  ///< it was written before, with fewer parts
    };
    BinaryStore(beam::BinaryReader reader, RegionCopier& copier, std::size_t slots,
                std::optional<std::uint64_t> keep)
        : reader_(std::move(reader)),
          copier_(&copier),
          slots_(slots),
          keep_(keep),
          parts_(keep, slots / kSlotsOfAPart),
          known_(slots),
          looks_(slots) {}
    void scrub_prefix(beam::BinaryView& binary) const;
    Result<void> write_waiting();
    [[nodiscard]] RegionCopier::Request content_of(const beam::BinaryView& binary) const;
    Result<std::uint64_t> fingerprint_of(const beam::BinaryView& binary);
    Result<void> write_content(beam::BinaryView& binary);
    /// The parts in the last record of a binary; nothing if what is there now is not what was
    /// written.
    Result<std::optional<KeptParts::Written>> last_parts(const beam::BinaryView& binary);
    Result<KeptParts::Written> read_parts(const beam::BinaryView& binary,
                                          std::span<const beam::ShownPart> parts,
                                          records::Binary* into);
    void replace(const Look& before, std::uint64_t part_bytes);
    [[nodiscard]] bool is_written(Address binary, std::uint64_t fingerprint) const;
    [[nodiscard]] Result<void> ask_watch() const;
    Result<void> flush_page();
    void clear_page();
    Result<void> write_index();
    Result<void> write_replaced();
    Result<void> write_run(std::span<const AddressMap::Entry> entries);

    static constexpr std::size_t kSlotsOfAPart = 8;

    beam::BinaryReader reader_;
    RegionCopier* copier_;
    std::vector<Address> waiting_;
    std::size_t slots_;
    std::optional<std::uint64_t> keep_;  // of each, in bytes
    KeptParts parts_;
    AddressMap known_;                         // to the record's offset, 0 while waiting
    std::vector<Look> looks_;                  // by slot of known_
    std::vector<AddressMap::Entry> replaced_;  // records whose place in known_ was taken
    bool moving_ = false;
    const Watch* watch_ = nullptr;  // non-owning
    records::Binaries page_;
    std::vector<OnPage> on_page_;  // the page's binaries
    std::size_t page_bytes_ = 0;
    google::protobuf::RepeatedPtrField<records::BinaryPageRef> index_pages_;
    std::uint32_t run_ = 0;
    std::uint64_t count_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t captured_bytes_ = 0;
    std::uint64_t times_replaced_ = 0;
};

}  // namespace beamdump::capture
