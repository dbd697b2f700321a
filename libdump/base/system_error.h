#pragma once

#include <libdump/base/error.h>

#include <exception>
#include <string>

namespace beamdump {

/// strerror() of an errno value: "No space left on device".
std::string system_error_text(int error_number);

/// The error for a file that cannot be opened, from errno: kNotFound, kPermission or kIo.
Error cannot_open(const std::string& name);

/// The error for a library's exception about memory (std::bad_alloc) or threads
/// (std::system_error), with the limit to raise. kLimit.
Error error_of(const std::exception& failure);

}  // namespace beamdump
