#pragma once

#include "read/file/file_source.h"
#include "read/frames/frame_index.h"
#include "read/frames/frame_loader.h"

#include <libdump/base/error.h>
#include <libdump/read/dump_reader.h>

#include <records.pb.h>

#include <optional>

namespace beamdump {

/// A dump without a usable tail, seek table or trailer, as far as its frames are whole.
struct RecoveredDump {
    FrameIndex frames;
    records::Trailer trailer;
    std::optional<RecoveredIndex> index;  ///< nothing where the dump's own trailer was found
    Damage damage;
};

/// Walks the frames and rebuilds the index. `why` is what made that necessary. kTruncated where not
/// one frame is whole.
Result<RecoveredDump> recover_dump(FileSource& file, FrameLoader& loader,
                                   const format::FileHeader& header, const Error& why);

}  // namespace beamdump
