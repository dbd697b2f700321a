#pragma once

#include <span>
#include <string_view>

namespace beamdump {

struct BuiltinLayout {
    std::string_view name;  ///< "otp-25"
    std::string_view json;
};

/// The files of schemas/layouts, as they were when the program was built.
std::span<const BuiltinLayout> builtin_layouts();

}  // namespace beamdump
