#pragma once

#include <libvm/beam/search/jit_list.h>

namespace beamdump::beam {

/// Finds the_active_code_index (code_ix.c): the JIT's shared code loads it from a fixed address; it
/// is 0 to 2, and the neighbouring the_staging_code_index is the next index.
Result<Address> find_active_code_index(Vm& vm, const ImageSearch& search, const JitSelf& jit);

}  // namespace beamdump::beam
