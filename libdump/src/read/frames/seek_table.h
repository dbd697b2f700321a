#pragma once

#include "read/file/file_source.h"
#include "read/frames/frame_index.h"

#include <libdump/base/error.h>
#include <libdump/format/format.h>

#include <optional>

namespace beamdump {

/// What the end of a whole dump says.
struct DumpEnd {
    format::Tail tail;
    FrameIndex frames;
};

/// Reads tail and seek table. An error says why they cannot be trusted (kTruncated, kCorrupt), and
/// that the frames have to be walked instead. Bounds are checked before anything is allocated.
Result<DumpEnd> read_dump_end(FileSource& file, const format::FileHeader& header);

/// The tail whose skippable frame starts at `file_offset`, if a whole and valid one of this dump is
/// there.
std::optional<format::Tail> read_tail(FileSource& file, std::uint64_t file_offset,
                                      const format::FileHeader& header);

inline constexpr std::uint64_t kTailFrameBytes = 8 + sizeof(format::Tail);

}  // namespace beamdump
