#pragma once

#include "capture/copy/row_writer.h"

#include <libvm/beam/activity/persistent_terms.h>

#include <functional>

namespace beamdump::capture {

/// How persistent terms are read.
struct PersistentTermsWanted {
    bool words = true;     ///< false: only how many, and how large
    bool validate = true;  ///< see CaptureOptions
    std::uint32_t epoch = 0;
    std::function<Result<bool>()> go_on;
};

/// Writes the node's persistent terms. What could not be found or read is absent, with a warning:
/// it never fails a capture.
Result<void> write_persistent_terms(beam::Vm& vm, RegionCopier& copier, BinaryStore& binaries,
                                    records::Trailer& trailer, const beam::Moving& moving,
                                    const PersistentTermsWanted& wanted);

}  // namespace beamdump::capture
