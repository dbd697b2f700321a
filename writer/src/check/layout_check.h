#pragma once

#include "beam/vm.h"
#include "beam/vm_check.h"
#include "check/field_probe.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace beamdump::check {

/// Opens the node or core that is looked at: once for each layout that is tried on it.
using OpenTarget = std::function<Result<std::unique_ptr<target::Target>>()>;

/// A VM that passed its layout's checks.
struct CheckedVm {
    std::unique_ptr<beam::Vm> vm;
    beam::CheckReport checks;
};

/// What a layout is worth on one node.
struct LayoutFit {
    std::string otp_release;   ///< the node's
    std::string erts_version;  ///< the node's
    bool jit = false;
    std::string layout_name;
    std::string layout_release;
    bool layout_given = false;  ///< by --layout
    beam::CheckReport checks;
    FieldSight fields{};
};

/// Finds the VM and checks the layout, as often as `tries` where the node runs. Reads only; nothing
/// is stopped. Errors are those of `open`, Vm::locate() and check_vm().
Result<CheckedVm> locate_checked(const OpenTarget& open, const beam::LocateOptions& how, int tries);

/// Everything of a LayoutFit, from a VM that passed the checks: tries each field of its layout at a
/// wrong place, which takes a few seconds. `told` as for probe_fields(). kIo: `cancelled` was set.
Result<LayoutFit> probe_layout(const CheckedVm& checked, const OpenTarget& open,
                               const beam::LocateOptions& how,
                               const std::function<void(std::size_t, std::size_t)>& told,
                               const std::atomic<bool>& cancelled);

}  // namespace beamdump::check
