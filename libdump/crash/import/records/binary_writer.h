#pragma once

#include <libdump/crash/import/words/element_parser.h>
#include <libdump/crash/text/crash_dump.h>
#include <libdump/write/dump_writer.h>

#include <set>

namespace beamdump::crash {

/// Writes requested =binary sections, each once, and their index.
class BinaryWriter {
  public:
    BinaryWriter(const CrashDump& dump, const TextFormat& format, DumpWriter& writer)
        : dump_(dump), format_(format), writer_(writer) {}

    /// Requests the Binary at that address; returns whether the text has it.
    bool want(std::uint64_t address);
    /// Writes those requested since the last call.
    Result<void> flush();
    enum class Requested : std::uint8_t { kNone, kSome, kAll };
    /// Writes the index and the node's totals: how many bytes the text has is told unless kSome
    /// were requested, and takes reading all of them.
    Result<void> finish(records::Trailer& trailer, Requested requested);
    /// Writes the index without the totals.
    Result<void> finish_index(records::Trailer& trailer);

  private:
    Result<void> write(std::uint64_t address, const Span& lines);
    Result<void> flush_page();
    Result<void> count(bool contents);

    const CrashDump& dump_;
    const TextFormat& format_;
    DumpWriter& writer_;
    std::set<std::uint64_t> wanted_;
    std::map<std::uint64_t, std::uint64_t> written_;  // to the offset of their record
    records::Binaries page_;
    std::size_t page_bytes_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t captured_bytes_ = 0;
};

}  // namespace beamdump::crash
