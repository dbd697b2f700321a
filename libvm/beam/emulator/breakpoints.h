#pragma once

#include <libdump/base/error.h>
#include <libvm/beam/tables/modules.h>
#include <libvm/beam/vm/vm.h>

#include <records.pb.h>

#include <cstddef>
#include <span>

namespace beamdump::beam {

/// Adds the functions of `modules` that have breakpoints of call tracing or call counting
/// (beam_bp.h): the first `most` with what their breakpoints do, and how many there are. Without
/// any, nothing is read. Otherwise the functions of the modules that have some are read, and the
/// exports if calls of some are traced, the breakpoints of a function until two reads are equal.
/// What the layout lacks or cannot be read is a sentence of `into`. The only error is kTargetDied.
Result<void> read_traced_functions(Vm& vm, std::span<const ModuleCode> modules, std::size_t most,
                                   records::Emulator& into);

}  // namespace beamdump::beam
