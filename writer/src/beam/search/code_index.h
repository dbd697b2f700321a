#pragma once

#include "beam/search/jit_list.h"

namespace beamdump::beam {

/// Finds the_active_code_index (code_ix.c): the code that the JIT made for all modules to share
/// loads it from a fixed address; it is 0 to 2, and next to it stands the_staging_code_index, which
/// is the one after it.
Result<Address> find_active_code_index(Vm& vm, const ImageSearch& search, const JitSelf& jit);

}  // namespace beamdump::beam
