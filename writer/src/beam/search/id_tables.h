#pragma once

#include "beam/search/image_search.h"
#include "beam/vm/vm.h"

namespace beamdump::beam {

/// erts_proc and erts_port.
struct IdTables {
    Address processes = 0;
    Address ports = 0;
};

/// Finds the tables of processes and of ports (ErtsPTab, erl_ptab.h): a power of two of slots, its
/// mask and a mapped array of them; an element that represents a reserved slot, whose identifier
/// says of which kind the table is; members whose identifiers are of that kind and, of processes,
/// lead back to their slots.
Result<IdTables> find_id_tables(Vm& vm, const ImageSearch& search);

}  // namespace beamdump::beam
