#pragma once

#include "memory/memory_source.h"

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

}  // namespace beamdump::beam
