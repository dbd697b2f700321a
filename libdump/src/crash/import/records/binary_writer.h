#pragma once

#include "crash/import/words/element_parser.h"

#include <libdump/crash/text/crash_dump.h>
#include <libdump/write/dump_writer.h>

#include <set>

namespace beamdump::crash {

/// Writes the Binaries of the sections =binary that are asked for, each once, and their index.
class BinaryWriter {
  public:
    BinaryWriter(const CrashDump& dump, const TextFormat& format, DumpWriter& writer)
        : dump_(dump), format_(format), writer_(writer) {}

    /// Whether the text has a Binary at that address; if so, it is to be written.
    bool want(std::uint64_t address);
    /// Writes those that were wanted since the last call.
    Result<void> flush();
    /// Writes the index, and how many the node had. `all`: those are the ones that were wanted.
    Result<void> finish(records::Trailer& trailer, bool all);

  private:
    Result<void> write(std::uint64_t address, const Span& lines);
    Result<void> flush_page();
    Result<void> count();

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
