#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <string>

namespace beamdump {

/// TMPDIR, or /var/tmp where that is not set.
std::string temporary_directory();

/// A file without a name in temporary_directory(), deleted when its descriptor is closed.
Result<Descriptor> open_temporary_file();

}  // namespace beamdump
