#pragma once

#include <libdump/base/architecture.h>

#include <span>
#include <string_view>

namespace beamdump {

struct BuiltinLayout {
    std::string_view name;     ///< "otp-25", "otp-25-aarch64"
    std::string_view release;  ///< "25"
    Architecture architecture;
    std::string_view json;
};

/// The files of schemas/layouts, as they were when the program was built; those of x86-64 first.
std::span<const BuiltinLayout> builtin_layouts();

}  // namespace beamdump
