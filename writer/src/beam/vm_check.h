#pragma once

#include "beam/code_lookup.h"

namespace beamdump::beam {

/// What the checks of a layout against a node looked at.
struct CheckReport {
    std::uint64_t atoms = 0;
    std::uint64_t modules = 0;
    std::uint64_t functions = 0;
    std::uint64_t processes = 0;
    std::uint64_t heap_bounds = 0;
    std::uint64_t return_addresses = 0;
};

/// Checks a located VM against its layout before anything is trusted: the first atoms are `false`,
/// `true`...; every module's functions name that module; processes' ids lead back to their slots;
/// their heap bounds are ordered and lie in mapped memory; the words on their stacks that look like
/// return addresses lie in known code; the node's own name is an atom of the right form. A target
/// that fails is refused with what was expected and found. A sample of processes is looked at; when
/// the node is running, those that move are passed over, and a failure needs more than one in ten.
Result<CheckReport> check_vm(Vm& vm, CodeLookup& code);

/// How often a node that runs is looked at before it is refused.
inline constexpr int kCheckTries = 5;

/// check_vm() over the modules loaded at that moment, at most `tries` times: what moved on
/// meanwhile looks like a layout that does not fit, once; one that does not fit looks so every
/// time.
Result<CheckReport> check_steadily(Vm& vm, int tries);

}  // namespace beamdump::beam
