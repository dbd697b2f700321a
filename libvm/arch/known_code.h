#pragma once

#include <libdump/base/architecture.h>

namespace beamdump::arch {

/// Whether the folder of an architecture knows the compiled code of nodes there beyond the beginning
/// of functions (function_starts()): how it calls native code, and how frames unwind. Where it does
/// not, nothing is concluded from machine registers of threads that run elsewhere.
constexpr bool knows_code(Architecture architecture) {
    return architecture == Architecture::kX86_64;
}

}  // namespace beamdump::arch
