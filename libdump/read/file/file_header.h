#pragma once

#include <libdump/base/error.h>
#include <libdump/format/format.h>
#include <libdump/read/file/file_source.h>

namespace beamdump {

inline constexpr std::size_t kSkippableHeaderBytes = 8;
/// Where the first zstd frame starts.
inline constexpr std::size_t kFileHeaderBytes = kSkippableHeaderBytes + sizeof(format::FileHeader);

/// Reads and checks a dump's first bytes. kNotADump: another kind of file, named in the sentence.
/// kNewerVersion: a valid header of a newer major version. kTruncated: ends inside the header.
/// kCorrupt: a dump's header, but damaged.
Result<format::FileHeader> read_file_header(FileSource& file);

}  // namespace beamdump
