#pragma once

#include "beam/checks/vm_check.h"
#include "beam/locate/locate.h"
#include "fit/field_probe.h"
#include "fit/infer.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace beamdump::fit {

/// Opens the node or core that is examined: once for each layout that is tried on it.
using OpenTarget = std::function<Result<std::unique_ptr<target::Target>>()>;

/// A VM that passed its layout's checks.
struct CheckedVm {
    std::unique_ptr<beam::Vm> vm;
    beam::CheckReport checks;
    /// Where there was none for the release and one was made on the node.
    std::optional<Origin> inferred{};

    /// Whether the layout was made from the node's release, by its sources.
    [[nodiscard]] bool of_the_release() const {
        return !inferred && vm->layout().release() == vm->facts().otp_release;
    }
};

/// What a layout is worth on one node.
struct LayoutFit {
    std::string otp_release;   ///< the node's
    std::string erts_version;  ///< the node's
    bool jit = false;
    std::string layout_name;
    std::string layout_release;
    bool layout_given = false;  ///< by --layout
    std::optional<Origin> inferred{};
    beam::CheckReport checks;
    FieldVisibility fields{};
};

/// Finds the VM and checks the layout, as often as `tries` where the node runs. Where there is none
/// for the release, one is inferred, which takes some seconds. Reads only; nothing is stopped.
/// Errors are those of `open`, locate_vm(), infer_layout(), which `cancelled` ends, and
/// check_vm().
Result<CheckedVm> locate_checked(const OpenTarget& open, const beam::LocateOptions& how, int tries,
                                 const std::atomic<bool>& cancelled);

/// Everything of a LayoutFit, from a VM that passed the checks: tries each field of its layout at a
/// wrong place, which takes a few seconds. `on_progress` as for probe_fields(). kIo: `cancelled`
/// was set.
Result<LayoutFit> probe_layout(const CheckedVm& checked, const OpenTarget& open,
                               const beam::LocateOptions& how,
                               const std::function<void(std::size_t, std::size_t)>& on_progress,
                               const std::atomic<bool>& cancelled);

}  // namespace beamdump::fit
