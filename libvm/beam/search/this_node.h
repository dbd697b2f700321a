#pragma once

#include <libvm/beam/search/image_search.h>
#include <libvm/beam/vm/vm.h>

namespace beamdump::beam {

/// Finds erts_this_node (erl_node_tables.c): the one word in the runtime's data that points to a
/// member of the node table. The table must be known.
Result<Address> find_this_node(Vm& vm, const ImageSearch& search);

}  // namespace beamdump::beam
