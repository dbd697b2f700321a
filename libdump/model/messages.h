#pragma once

#include <libdump/base/error.h>
#include <libdump/model/process_run.h>
#include <libdump/read/dump_reader.h>

#include <cstddef>
#include <cstdint>

namespace beamdump {

/// The entries of a process's queues in order (inner, middle, outer, buffers), one pack in memory
/// at a time. Non-owning: reader and run must outlive it.
class MessageWalker {
  public:
    MessageWalker(DumpReader& reader, const ProcessRun& run);

    /// Makes next() return the first entry whose index is at least `index`. Reads nothing.
    void seek(std::uint64_t index);

    /// The next entry, valid until the next call; null after the last.
    Result<const records::Message*> next();

    /// Index of the entry returned last, among all entries of the process from 0.
    [[nodiscard]] std::uint64_t index() const { return index_; }
    /// Packs read so far.
    [[nodiscard]] std::uint64_t packs_read() const { return packs_read_; }

  private:
    DumpReader& reader_;
    const ProcessRun& run_;
    records::Messages pack_;
    std::size_t next_pack_ = 0;
    int next_entry_ = 0;
    std::uint64_t index_ = 0;
    std::uint64_t wanted_ = 0;  ///< entries before it are skipped
    std::uint64_t packs_read_ = 0;
};

/// Whether an entry is a message, not another signal or a marker.
bool is_message(const records::Message& entry);

}  // namespace beamdump
