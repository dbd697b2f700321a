#pragma once

#include <libdump/base/error.h>
#include <libdump/format/format.h>
#include <libdump/read/file/file_source.h>
#include <libdump/read/frames/frame_index.h>

#include <optional>

namespace beamdump {

/// The end of a complete dump.
struct DumpEnd {
    format::Tail tail;
    FrameIndex frames;
};

/// Reads tail and seek table. On an error (kTruncated, kCorrupt) the frames must be walked instead.
/// Bounds are checked before anything is allocated.
Result<DumpEnd> read_dump_end(FileSource& file, const format::FileHeader& header);

/// The tail whose skippable frame starts at `file_offset`, if there is a complete and valid one of
/// this dump.
std::optional<format::Tail> read_tail(FileSource& file, std::uint64_t file_offset,
                                      const format::FileHeader& header);

inline constexpr std::uint64_t kTailFrameBytes = 8 + sizeof(format::Tail);

}  // namespace beamdump
