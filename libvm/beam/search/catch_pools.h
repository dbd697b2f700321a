#pragma once

#include <libvm/beam/search/image_search.h>
#include <libvm/beam/vm/vm.h>

namespace beamdump::beam {

/// Finds bccix (beam_catches.c), the catch tables of the three code indexes, by their shape and by
/// the code that their first entries point to.
Result<Address> find_catch_pools(Vm& vm, const ImageSearch& search);

}  // namespace beamdump::beam
