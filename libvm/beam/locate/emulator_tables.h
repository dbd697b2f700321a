#pragma once

#include <libvm/beam/locate/symbols.h>
#include <libvm/beam/search/image_search.h>
#include <libvm/beam/vm/vm.h>

#include <vector>

namespace beamdump::beam {

/// Finds what EmulatorTables has: by symbols, variables without one as operands in the machine code
/// of functions that have one, and the list of resource types by its shape. Stripped executables of
/// OTP 25 to 28 have symbols and functions, those of 29 neither. `found` gets each that was found.
EmulatorTables find_emulator_tables(Vm& vm, const Symbols& symbols, const ImageSearch& search,
                                    std::vector<Found>& found);

}  // namespace beamdump::beam
