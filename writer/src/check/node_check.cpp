#include "check/node_check.h"

#include "capture/modes/snapshot.h"

#include <libdump/base/return_if_error.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/nodes/running_nodes.h>
#include <libvm/target/live_target.h>

#include <fmt/format.h>

#include <filesystem>

namespace beamdump::check {
namespace {

Result<void> count_processes(beam::Vm& vm, NodeCheck& check) {
    constexpr std::uint32_t kSlots = 65536;
    ASSIGN_OR_RETURN(auto table, beam::IdTable::processes(vm));
    check.process_limit = table.slots();
    for (std::uint32_t first = 0; first < table.slots(); first += kSlots) {
        ASSIGN_OR_RETURN(const auto used, table.used(first, kSlots));
        check.processes += used.size();
    }
    return {};
}

std::uint64_t count_threads(pid_t pid) {
    std::error_code ignored;
    const std::filesystem::directory_iterator entries(fmt::format("/proc/{}/task", pid), ignored);
    return static_cast<std::uint64_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace

Result<NodeCheck> check_node(const capture::CaptureOptions& options, int level, Probe probe,
                             capture::ProgressListener& listener,
                             const std::atomic<bool>& cancelled) {
    ASSIGN_OR_RETURN(auto how, capture::locate_options(options));
    const auto open = [&] { return target::LiveTarget::open(options.pid); };
    ASSIGN_OR_RETURN(const auto checked,
                     fit::locate_checked(open, how, beam::kCheckTries, cancelled));
    const auto& vm = checked.vm;
    ASSIGN_OR_RETURN(const auto process, target::ProcDirectory::open(options.pid));
    NodeCheck check{
        .vm = vm->facts(),
        .found = vm->found(),
        .access = target::access_facts(process),
        .executable = vm->target().executable(),
        .swapped = vm->target().has_swapped_pages(),
        .threads = count_threads(options.pid),
        .memory_left = fail(ErrorCode::kAbsent, "not looked at"),
        .twin = target::Twin::estimate_needs(options.pid, capture::snapshot_limits(options)),
        .short_twin = target::Twin::estimate_needs(
            options.pid,
            capture::short_twin_limits(options.max_pause.value_or(capture::kDefaultPause))),
        .max_pause = options.max_pause.value_or(capture::kDefaultPause)};
    if (check.twin) {
        check.longest_twin_stop =
            target::Twin::longest_stop(*check.twin, capture::snapshot_limits(options));
    }
    if (auto name = nodes::node_name(*vm)) {
        check.node_name = *name;
    }
    RETURN_IF_ERROR(count_processes(*vm, check));
    const auto resident = vm->target().resident_bytes();
    const auto room = target::HeadRoom::of(options.pid);
    check.memory_left = room ? room->memory() : std::unexpected(room.error());
    auto estimate = estimate_dump(vm->target(), level);
    if (!resident || !estimate) {
        return std::unexpected(!resident ? resident.error() : estimate.error());
    }
    check.resident_bytes = *resident;
    check.dump = *estimate;
    if (probe == Probe::kNo) {
        check.layout = fit::layout_fit(checked, how);
        return check;
    }
    const auto on_progress = [&](std::size_t done, std::size_t total) {
        listener.update({"fields", done, total, 0, 0});
    };
    ASSIGN_OR_RETURN(auto fit, fit::probe_layout(checked, open, how, on_progress, cancelled));
    check.layout = std::move(fit);
    return check;
}

}  // namespace beamdump::check
