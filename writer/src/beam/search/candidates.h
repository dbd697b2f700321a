#pragma once

#include "memory/memory_source.h"

#include <string>
#include <string_view>
#include <vector>

namespace beamdump::beam {

/// Addresses as a person reads them; "nowhere" for none.
std::string listed(const std::vector<memory::Address>& addresses);

/// The one candidate of a search. kImplausible, with all of them, where they are none or several:
/// nothing is ever guessed. `expected` completes "expected ...": "one hash table named "x"".
Result<memory::Address> only_one(std::string_view what, std::string_view expected,
                                 const std::vector<memory::Address>& candidates);

}  // namespace beamdump::beam
