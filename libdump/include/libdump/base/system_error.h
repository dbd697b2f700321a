#pragma once

#include <libdump/base/error.h>

#include <exception>
#include <string>

namespace beamdump {

/// The operating system's words for an errno value: "No space left on device".
std::string system_error_text(int error_number);

/// What a library's exception says when this program gets no more memory (std::bad_alloc) or
/// threads (std::system_error), with the limit to raise. kLimit.
Error error_of(const std::exception& failure);

}  // namespace beamdump
