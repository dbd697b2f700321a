#pragma once

#include <libvm/beam/search/image_search.h>
#include <libvm/beam/vm/vm.h>

#include <initializer_list>

namespace beamdump::beam {

/// A hash table of the runtime by the name that it points to (hash.h). kImplausible: none or
/// several.
Result<Address> find_hash(const Vm& vm, const ImageSearch& search, std::string_view what,
                          std::string_view name);

/// An index table by its hash table's name (index.h).
Result<Address> find_index_table(const Vm& vm, const ImageSearch& search, std::string_view what,
                                 std::string_view name);

/// The first of three index tables in a row, one for each code index, by one of the names that
/// releases give them.
Result<Address> find_staged_tables(const Vm& vm, const ImageSearch& search, std::string_view what,
                                   std::initializer_list<std::string_view> names);

}  // namespace beamdump::beam
