#pragma once

#include <libdump/base/error.h>
#include <libdump/read/dump_reader.h>
#include <libdump/read/file/file_source.h>
#include <libdump/read/frames/frame_index.h>
#include <libdump/read/frames/frame_loader.h>

#include <records.pb.h>

#include <optional>

namespace beamdump {

/// The complete frames of a dump without a usable tail, seek table or trailer.
struct RecoveredDump {
    FrameIndex frames;
    records::Trailer trailer;
    std::optional<RecoveredIndex> index;  ///< nullopt if the dump's own trailer was found
    Damage damage;
};

/// Walks the frames and rebuilds the index. `why`: the error that made it necessary. kTruncated if
/// no frame is complete.
Result<RecoveredDump> recover_dump(FileSource& file, FrameLoader& loader,
                                   const format::FileHeader& header, const Error& why);

}  // namespace beamdump
