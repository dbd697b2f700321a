#pragma once

#include <libvm/beam/vm/vm.h>

namespace beamdump::beam {

/// The process registered under a name (register.c), 0 for none.
Result<Address> registered_process(Vm& vm, std::uint64_t name_word);

}  // namespace beamdump::beam
