#pragma once

#include <libvm/beam/search/image_search.h>
#include <libvm/beam/vm/vm.h>

namespace beamdump::beam {

/// erts_proc and erts_port.
struct IdTables {
    Address processes = 0;
    Address ports = 0;
};

/// Finds the tables of processes and of ports (ErtsPTab, erl_ptab.h): a power of two of slots, its
/// mask and a mapped array of them; an element for reserved slots, whose identifier has the tag of
/// the table's kind; members with identifiers of that kind, which for processes match their slots.
Result<IdTables> find_id_tables(Vm& vm, const ImageSearch& search);

}  // namespace beamdump::beam
