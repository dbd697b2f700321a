#pragma once

#include <string>

namespace beamdump {

/// The operating system's words for an errno value: "No space left on device".
std::string system_error_text(int error_number);

}  // namespace beamdump
