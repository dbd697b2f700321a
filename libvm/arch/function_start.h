#pragma once

#include <libdump/base/architecture.h>
#include <libvm/arch/common/function_start.h>

namespace beamdump::arch {

/// How functions begin in nodes of that architecture.
FunctionStarts function_starts(Architecture architecture);

}  // namespace beamdump::arch
