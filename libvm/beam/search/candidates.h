#pragma once

#include <libvm/beam/vm/vm.h>

#include <string>
#include <string_view>
#include <vector>

namespace beamdump::beam {

/// Addresses as text; "nowhere" for none.
std::string listed(const std::vector<memory::Address>& addresses);

/// The only candidate of a search. kImplausible, with all candidates, if there is none or more than
/// one. `expected` completes "expected ...": "one hash table named "x"".
Result<memory::Address> only_one(std::string_view what, std::string_view expected,
                                 const std::vector<memory::Address>& candidates);

/// Whether an address is in memory that can be executed.
bool is_code(Vm& vm, memory::Address address);

}  // namespace beamdump::beam
