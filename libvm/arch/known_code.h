#pragma once

#include <libdump/base/architecture.h>

namespace beamdump::arch {

/// Whether the folder of an architecture knows the compiled code of nodes there: where functions
/// begin and wait, which registers have the stack, the heap and arguments, and how frames unwind.
/// Where it does not, nothing is concluded from machine registers of threads that run.
constexpr bool knows_code(Architecture architecture) {
    return architecture == Architecture::kX86_64;
}

}  // namespace beamdump::arch
