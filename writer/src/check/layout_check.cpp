#include "check/layout_check.h"

namespace beamdump::check {

Result<CheckedVm> locate_checked(const OpenTarget& open, const beam::LocateOptions& how,
                                 int tries) {
    auto target = open();
    if (!target) {
        return std::unexpected(target.error());
    }
    auto vm = beam::Vm::locate(std::move(*target), how);
    if (!vm) {
        return std::unexpected(vm.error());
    }
    auto checks = beam::check_steadily(**vm, tries);
    if (!checks) {
        return std::unexpected(checks.error());
    }
    return CheckedVm{std::move(*vm), *checks};
}

Result<LayoutFit> probe_layout(const CheckedVm& checked, const OpenTarget& open,
                               const beam::LocateOptions& how,
                               const std::function<void(std::size_t, std::size_t)>& told,
                               const std::atomic<bool>& cancelled) {
    const auto& layout = checked.vm->layout();
    const auto& facts = checked.vm->facts();
    LayoutFit fit{.otp_release = facts.otp_release,
                  .erts_version = facts.erts_version,
                  .jit = facts.jit,
                  .layout_name = layout.name(),
                  .layout_release = layout.release(),
                  .layout_given = how.layout.has_value(),
                  .checks = checked.checks};
    // Who is asked to end meanwhile gets no list of fields.
    const auto fits = [&](const beam::Layout& tried) {
        auto moved = how;
        moved.layout = tried;
        return !cancelled && locate_checked(open, moved, 1);
    };
    fit.fields = probe_fields(layout, fits, told);
    if (cancelled) {
        return fail(ErrorCode::kIo, "interrupted");
    }
    return fit;
}

}  // namespace beamdump::check
