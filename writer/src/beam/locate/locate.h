#pragma once

#include "beam/vm/vm.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::beam {

/// How to locate a VM.
struct LocateOptions {
    std::optional<Layout> layout;  ///< to use whatever the release
    std::vector<Layout> layouts;   ///< to choose from instead of the built-in ones
    bool no_symbols = false;       ///< as if the executable had none
};

/// The layouts to choose from.
Result<std::vector<Layout>> known_layouts(const LocateOptions& options);

/// Finds the VM in a target: the layout of its release, and where its tables are. Stops nothing.
/// kNoLayout: a release without. kImplausible: tables that cannot be found or are in more than one
/// place, with the candidates. Nothing is trusted yet: see check_vm().
Result<std::unique_ptr<Vm>> locate_vm(std::unique_ptr<target::Target> target,
                                      const LocateOptions& options);

/// The OTP release of a target, before anything else is known of it.
Result<std::string> find_release(target::Target& target, const LocateOptions& options);

}  // namespace beamdump::beam
