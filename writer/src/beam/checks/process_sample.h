#pragma once

#include "beam/processes/process.h"

#include <functional>

namespace beamdump::beam {

/// Some processes of a node, as the checks look at them.
struct ProcessSample {
    std::uint32_t processes = 200;  ///< judged at most
    /// Slots examined for that: where none holds a process, a million would be no more certain.
    std::uint32_t slots = 4000;
};

/// Hands over processes, by their slots, until the sample is full: each that could be read, decoded
/// or not (then with the reason). `visit` says whether it counts. Errors: the table or a process's
/// structure is not where the layout says. Other errors of single processes are handed over.
Result<std::uint32_t> sample_processes(
    Vm& vm, CodeLookup& code, const ProcessSample& sample,
    const std::function<bool(Result<ProcessView>& process, const StructView& structure)>& visit);

}  // namespace beamdump::beam
