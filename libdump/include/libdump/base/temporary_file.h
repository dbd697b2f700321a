#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <string>

namespace beamdump {

/// TMPDIR, or /var/tmp where that is not set.
std::string temporary_directory();

/// A file without a name in TMPDIR, or in /var/tmp where that is not set: gone with its descriptor.
Result<Descriptor> open_temporary_file();

}  // namespace beamdump
