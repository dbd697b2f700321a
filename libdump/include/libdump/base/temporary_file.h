#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

namespace beamdump {

/// A file without a name in TMPDIR, or in /var/tmp where that is not set: gone with its descriptor.
Result<Descriptor> open_temporary_file();

}  // namespace beamdump
