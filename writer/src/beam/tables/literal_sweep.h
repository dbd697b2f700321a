#pragma once

#include "beam/vm/vm.h"

#include <functional>

namespace beamdump::beam {

/// Finds the reference-counted and magic binaries that literals refer to. No one list names them:
/// each module's and each persistent term's literals have one of their own. So the literals' words
/// are swept for what looks like a ProcBin, a BinRef or a magic reference and checked: the Binary
/// it points to must lie in mapped memory and hold the bytes that the ProcBin claims. `part`: a
/// range of present literal pages.
Result<void> sweep_literal_binaries(Vm& vm, memory::AddressRange part,
                                    const std::function<Result<void>(Address binary)>& visit);

}  // namespace beamdump::beam
