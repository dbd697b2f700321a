#pragma once

#include <libdump/base/error.h>

namespace beamdump::program {

/// To be called once at the start of the process: a closed output becomes an error instead of a
/// signal.
void prepare_process();

/// Makes sure that enough descriptors are allowed: without them a file that cannot be opened would
/// be taken for one that does not exist. kLimit.
Result<void> ensure_descriptors();

}  // namespace beamdump::program
