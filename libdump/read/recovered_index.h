#pragma once

#include <records.pb.h>

#include <cstdint>
#include <vector>

namespace beamdump {

/// Where a reference-counted binary's record stands.
struct BinaryLocation {
    std::uint64_t address = 0;        ///< of the Binary structure
    std::uint64_t record_offset = 0;  ///< flat offset of the Binaries record that holds it
};

/// The contents of the index pages, rebuilt by walking the records of a dump without a trailer.
/// Memory: about 200 bytes a process, 16 bytes a binary.
struct RecoveredIndex {
    /// One row a process, in the order of the stream. Of several runs of one process the last
    /// consistent one counts, or the last if none is. Runs without an end are ignored.
    std::vector<records::ProcessRow> processes;
    std::uint64_t unfinished_processes = 0;  ///< runs without an end in the stream
    std::vector<records::ModuleRef> modules;
    /// Literal regions, listed from their Region records. They are also in the directory pages of
    /// Trailer.literals_directory_offset, as far as those were written.
    std::vector<records::RegionRef> literals;
    std::vector<BinaryLocation> binaries;  ///< ascending by address, then by place
};

}  // namespace beamdump
