#pragma once

#include <libdump/write/dump_writer.h>

#include <cstdint>

namespace beamdump {

/// Writes the records of one run (a process's, or the node's literals) other than its regions'
/// words: packs of messages and of small regions, relations, and the pages of its directory. Holds
/// one page of the directory and one pack of each kind.
class RunRecordWriter {
  public:
    /// Non-owning.
    explicit RunRecordWriter(DumpWriter& writer) : writer_(&writer) {}

    /// Begins another run, once the last one is finished.
    void begin();
    /// Continues the directory of an earlier run of the same owner, which ends at that offset.
    void follow(std::uint64_t directory_offset) {
        directory_.set_previous_offset(directory_offset);
    }

    /// Adds a region that was written or is absent.
    Result<void> region(records::RegionRef ref);
    /// Adds a small region, packed with others. `region` can be reused.
    Result<void> packed_region(records::PackedRegion& region);
    /// Writes those that wait.
    Result<void> flush_regions();
    Result<void> message(records::Message message);
    Result<void> relations(const records::Relations& page);

    /// Writes all pending records; sets `into` to the directory's last page, for the record that
    /// ends the run.
    Result<void> finish(records::RunDirectory& into);
    /// As finish(), for a run without such a record: returns the offset of the directory's last
    /// page.
    Result<std::uint64_t> finish_as_record();

    [[nodiscard]] std::uint64_t messages() const { return entries_; }

  private:
    Result<void> referenced();
    Result<void> flush_messages();

    DumpWriter* writer_;
    records::RunDirectory directory_;
    std::size_t references_ = 0;
    records::PackedRegions regions_;
    records::PackRef regions_ref_;
    std::size_t regions_bytes_ = 0;
    records::Messages messages_;
    records::PackRef messages_ref_;
    std::size_t messages_bytes_ = 0;
    std::uint64_t entries_ = 0;
};

}  // namespace beamdump
