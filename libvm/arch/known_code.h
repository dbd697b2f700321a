#pragma once

#include <libdump/base/architecture.h>

namespace beamdump::arch {

/// Whether the folder of an architecture knows the code of modules there beyond the beginning of
/// functions (function_starts()), and how native frames unwind (call_code.h tells which fragment
/// has called them without that). Where it does not, nothing is concluded from machine registers of
/// threads that run there.
constexpr bool knows_code(Architecture architecture) {
    return architecture == Architecture::kX86_64;
}

}  // namespace beamdump::arch
