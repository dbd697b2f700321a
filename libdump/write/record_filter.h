#pragma once

#include <libdump/base/error.h>
#include <libdump/format/format.h>

#include <cstddef>
#include <span>

namespace beamdump {

/// Sees the payload of each record before it is compressed, in the stream's order, and may change
/// it in place. Called from the thread that calls the DumpWriter.
class RecordFilter {
  public:
    RecordFilter() = default;
    RecordFilter(const RecordFilter&) = delete;
    RecordFilter& operator=(const RecordFilter&) = delete;
    virtual ~RecordFilter() = default;

    /// A region's payload begins with its RegionHeader; a striped region comes piece after piece.
    /// After an error the record is not written, and the DumpWriter refuses all others.
    virtual Result<void> record(format::RecordKind kind, std::span<std::byte> payload) = 0;
};

}  // namespace beamdump
