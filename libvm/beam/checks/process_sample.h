#pragma once

#include <libvm/beam/checks/checks.h>
#include <libvm/beam/processes/process.h>

#include <functional>

namespace beamdump::beam {

/// Limits of a sample of processes for the checks.
struct ProcessSample {
    std::uint32_t processes = 200;  ///< at most
    /// Limit of slots examined, for tables without processes.
    std::uint32_t slots = 4000;
};

/// Looks at one process and adds what it finds; false if the process cannot be judged now.
using LookAtProcess =
    std::function<bool(const ProcessView& process, const StructView& structure, Checks& found)>;

/// Adds to `checks` what `look` finds of a sample of processes that did not change while they were
/// looked at. A misfit is added only if the same one is found twice, read anew, of a process whose
/// structure was the same before, between and after. Returns how many processes count. Fails if the
/// table cannot be read at the layout's place.
Result<std::uint32_t> check_processes_at_rest(Vm& vm, CodeLookup& code, const ProcessSample& sample,
                                              const LookAtProcess& look, Checks& checks);

}  // namespace beamdump::beam
