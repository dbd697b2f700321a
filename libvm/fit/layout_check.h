#pragma once

#include <libvm/beam/checks/vm_check.h>
#include <libvm/beam/locate/locate.h>
#include <libvm/fit/field_probe.h>
#include <libvm/fit/infer.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace beamdump::fit {

/// Opens the node or core to examine; called once per layout tried.
using OpenTarget = std::function<Result<std::unique_ptr<target::Target>>()>;

/// A VM that passed its layout's checks.
struct CheckedVm {
    std::unique_ptr<beam::Vm> vm;
    beam::CheckReport checks;
    /// Set if the release had no layout and one was inferred on the node.
    std::optional<beam::LayoutOrigin> inferred{};

    /// Whether the layout was made from the sources of the node's own release.
    [[nodiscard]] bool of_the_release() const {
        return !inferred && vm->layout().release() == vm->facts().otp_release;
    }
};

/// The result of checking a layout on one node.
struct LayoutFit {
    std::string otp_release;   ///< the node's
    std::string erts_version;  ///< the node's
    bool jit = false;
    std::string layout_name;
    std::string layout_release;
    bool layout_given = false;  ///< by --layout
    std::optional<beam::LayoutOrigin> inferred{};
    beam::CheckReport checks;
    bool probed = false;  ///< by probe_layout(), which says the rest
    FieldVisibility fields{};
};

/// Without the fields.
LayoutFit layout_fit(const CheckedVm& checked, const beam::LocateOptions& how);

/// Locates the VM and checks the layout, at most `tries` times on a running node. If the release
/// has no layout, those of LocateOptions::inferred are tried, and then one is inferred, which takes
/// some seconds and ends when `cancelled` is set. Reads
/// only; nothing is stopped. Errors are those of `open`, locate_vm(), infer_layout(),
/// check_steadily().
Result<CheckedVm> locate_checked(const OpenTarget& open, const beam::LocateOptions& how, int tries,
                                 const std::atomic<bool>& cancelled);

/// The complete LayoutFit of a VM that passed the checks: tries each field of its layout at a wrong
/// offset, which takes a few seconds. `on_progress` as in probe_fields(). kIo: `cancelled` was set.
Result<LayoutFit> probe_layout(const CheckedVm& checked, const OpenTarget& open,
                               const beam::LocateOptions& how,
                               const std::function<void(std::size_t, std::size_t)>& on_progress,
                               const std::atomic<bool>& cancelled);

}  // namespace beamdump::fit
