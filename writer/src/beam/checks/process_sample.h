#pragma once

#include "beam/processes/process.h"

#include <functional>

namespace beamdump::beam {

/// Limits of a sample of processes for the checks.
struct ProcessSample {
    std::uint32_t processes = 200;  ///< at most
    /// Limit of slots examined, for tables without processes.
    std::uint32_t slots = 4000;
};

/// Calls `visit` with processes in the order of slots until the sample is full: decoded, or with
/// the reason why not. `visit` returns whether the process counts. Fails if the table or a
/// process's structure cannot be read at the layout's place.
Result<std::uint32_t> sample_processes(
    Vm& vm, CodeLookup& code, const ProcessSample& sample,
    const std::function<bool(Result<ProcessView>& process, const StructView& structure)>& visit);

}  // namespace beamdump::beam
