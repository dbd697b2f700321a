#pragma once

#include <libvm/beam/vm/vm.h>

#include <functional>

namespace beamdump::beam {

/// Finds the reference-counted and magic binaries that literals refer to. There is no common list:
/// each module's and each persistent term's literals have their own. So the literals' words are
/// scanned for ProcBins, BinRefs and magic references, and candidates are checked: the Binary must
/// be in mapped memory and have the bytes that the ProcBin claims. `part`: a range of present
/// literal pages.
Result<void> sweep_literal_binaries(Vm& vm, memory::AddressRange part,
                                    const std::function<Result<void>(Address binary)>& visit);

}  // namespace beamdump::beam
