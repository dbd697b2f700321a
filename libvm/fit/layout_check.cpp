#include <libdump/base/return_if_error.h>
#include <libvm/fit/layout_check.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace beamdump::fit {

namespace {

/// A correct layout may fail on a running node now and then; without further tries that would count
/// as a detected change.
constexpr int kProbeTries = 2;

constexpr std::chrono::milliseconds kBetweenTries{3};

Result<std::unique_ptr<beam::Vm>> locate(const OpenTarget& open, const beam::LocateOptions& how) {
    auto target = open();
    return target ? beam::locate_vm(std::move(*target), how)
                  : Result<std::unique_ptr<beam::Vm>>(std::unexpected(target.error()));
}

/// The same, at most `tries` times: a table that changes while it is looked for may not be found
/// once. What is not found twice for the same reason is not there.
Result<std::unique_ptr<beam::Vm>> locate_steadily(const OpenTarget& open,
                                                  const beam::LocateOptions& how, int tries) {
    std::string before;
    for (int attempt = 1;; ++attempt) {
        auto vm = locate(open, how);
        const bool again =
            !vm && attempt < tries && vm.error().message != before &&
            (vm.error().code == ErrorCode::kImplausible || vm.error().code == ErrorCode::kUnmapped);
        if (!again) {
            return vm;
        }
        before = vm.error().message;
        std::this_thread::sleep_for(kBetweenTries * attempt);
    }
}

/// Checks the node with an inferred layout, since its release has none.
Result<CheckedVm> infer(const OpenTarget& open, const beam::LocateOptions& how, int tries,
                        const std::atomic<bool>& cancelled) {
    ASSIGN_OR_RETURN(auto target, open());
    const auto architecture = target->image().architecture();
    ASSIGN_OR_RETURN(auto known, beam::known_layouts(how, architecture));
    ASSIGN_OR_RETURN(auto release, beam::find_release(*target, how));
    auto given = how;
    for (const auto& before : how.inferred) {
        if (before.layout.release() != release || before.layout.architecture() != architecture) {
            continue;
        }
        given.layout = before.layout;
        if (auto checked = locate_checked(open, given, tries, cancelled)) {
            checked->inferred = before.origin;
            return checked;
        }
    }
    auto inferred = infer_layout(
        release, known,
        [&](const beam::Layout& layout) {
            given.layout = layout;
            return locate(open, given);
        },
        cancelled);
    if (!inferred) {
        return std::unexpected(inferred.error());
    }
    given.layout = std::move(inferred->layout);
    auto checked = locate_checked(open, given, tries, cancelled);
    if (checked) {
        checked->inferred = std::move(inferred->origin);
    }
    return checked;
}

bool has_all_kinds(const beam::CheckReport& report) {
    return std::ranges::none_of(beam::kCheckStages, [&](beam::CheckStage stage) {
        return beam::missing_kind(stage, report).has_value();
    });
}

}  // namespace

Result<CheckedVm> locate_checked(const OpenTarget& open, const beam::LocateOptions& how, int tries,
                                 const std::atomic<bool>& cancelled) {
    auto vm = locate_steadily(open, how, tries);
    if (!vm && vm.error().code == ErrorCode::kNoLayout) {
        return infer(open, how, tries, cancelled);
    }
    if (!vm) {
        return std::unexpected(vm.error());
    }
    ASSIGN_OR_RETURN(auto checks, beam::check_steadily(**vm, tries));
    return CheckedVm{std::move(*vm), checks};
}

LayoutFit layout_fit(const CheckedVm& checked, const beam::LocateOptions& how) {
    const auto& layout = checked.vm->layout();
    const auto& facts = checked.vm->facts();
    return {.otp_release = facts.otp_release,
            .erts_version = facts.erts_version,
            .jit = facts.jit,
            .layout_name = layout.name(),
            .layout_release = layout.release(),
            .layout_given = how.layout.has_value(),
            .inferred = checked.inferred,
            .checks = checked.checks};
}

Result<LayoutFit> probe_layout(const CheckedVm& checked, const OpenTarget& open,
                               const beam::LocateOptions& how,
                               const std::function<void(std::size_t, std::size_t)>& on_progress,
                               const std::atomic<bool>& cancelled) {
    auto fit = layout_fit(checked, how);
    // A layout with a moved field has to find the same things on the node.
    const bool all_kinds = has_all_kinds(checked.checks);
    // Once cancelled each try fails at once, and no list of fields is returned.
    const auto fits = [&](const beam::Layout& tried) {
        auto moved = how;
        moved.layout = tried;
        const auto found = cancelled ? fail(ErrorCode::kIo, "interrupted")
                                     : locate_checked(open, moved, kProbeTries, cancelled);
        return found && (!all_kinds || has_all_kinds(found->checks));
    };
    fit.fields = probe_fields(checked.vm->layout(), fits, on_progress);
    fit.probed = true;
    if (cancelled) {
        return fail(ErrorCode::kIo, "interrupted");
    }
    return fit;
}

}  // namespace beamdump::fit
