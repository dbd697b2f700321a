#pragma once

#include <libvm/beam/search/image_search.h>
#include <libvm/beam/vm/vm.h>

namespace beamdump::beam {

/// the_hash_table (erl_bif_persistent.c): the word that points to the table of persistent terms, a
/// power of two of slots, its mask, and as many pairs among the literals as it counts; one more or
/// less while one is being put or erased. A second such word is an argument of the last update: it
/// stands behind the function to be called. Literals must be known.
Result<Address> find_persistent_terms(Vm& vm, const ImageSearch& search);

}  // namespace beamdump::beam
