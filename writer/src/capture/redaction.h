#pragma once

#include <libdump/base/error.h>
#include <libdump/redact/redactor.h>
#include <libvm/beam/tables/modules.h>
#include <libvm/beam/vm/vm.h>

#include <vector>

namespace beamdump::capture {

/// Tells a redactor where the target's memory is, as the mappings were last read. Null: nothing.
void note_memory(beam::Vm& vm, redact::Redactor* redactor);

/// Tells a redactor which atoms name modules and functions, which have to be known before the atoms
/// are written. A module whose functions cannot be read keeps its own name only. Null: nothing.
Result<void> note_code(beam::Vm& vm, const std::vector<beam::ModuleCode>& modules,
                       redact::Redactor* redactor);

}  // namespace beamdump::capture
