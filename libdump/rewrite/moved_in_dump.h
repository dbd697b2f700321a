#pragma once

#include <libdump/model/process_run.h>
#include <libdump/model/region_map.h>
#include <libdump/redact/moved_headers.h>

#include <records.pb.h>

#include <cstdint>
#include <optional>
#include <span>

namespace beamdump {

/// A process of a dump that was captured in the middle of a collection.
struct CollectedRun {
    std::uint64_t number = 0;  ///< of its Process record, in the dump's order, from 1 on
    records::Collection collection;
    Directory directory;
};

/// What a collection has moved, by the words in a dump. The reader and the run must outlive it.
class MovedInDump final : public redact::MovedHeaders {
  public:
    MovedInDump(const TagScheme& scheme, DumpReader& reader, const CollectedRun& run)
        : MovedHeaders(scheme),
          reader_(reader),
          run_(run),
          regions_(reader, run.directory.regions) {}

    [[nodiscard]] bool is_target(std::uint64_t address) const override;

  private:
    std::size_t words(std::uint64_t address, std::span<std::uint64_t> into) override;
    [[nodiscard]] const records::LastMoved* last_moved(std::uint64_t copy) const;
    std::size_t packed_words(std::uint64_t address, std::span<std::uint64_t> into);

    DumpReader& reader_;
    const CollectedRun& run_;
    RegionMap regions_;
    /// Of the pack that was read last.
    std::optional<std::uint64_t> pack_offset_;
    records::PackedRegions pack_;
};

}  // namespace beamdump
