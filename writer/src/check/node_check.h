#pragma once

#include "capture/capture.h"
#include "check/dump_estimate.h"

#include <libvm/beam/vm/vm.h>
#include <libvm/fit/layout_check.h>
#include <libvm/target/process/access.h>
#include <libvm/target/process/head_room.h>
#include <libvm/target/twin/twin.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::check {

/// Everything that is known about a capture before anything is stopped or written.
struct NodeCheck {
    std::string node_name{};
    beam::VmFacts vm;
    std::vector<beam::Found> found;
    fit::LayoutFit layout{};
    std::uint64_t processes = 0;
    std::uint64_t process_limit = 0;  ///< +P
    target::AccessFacts access;
    std::string executable;
    std::uint64_t resident_bytes = 0;
    bool swapped = false;
    std::uint64_t threads = 0;
    Result<target::Room> memory_left;
    Result<target::TwinNeeds> twin;                ///< for mode snapshot
    Result<target::TwinNeeds> short_twin;          ///< for mode auto, within its longest stop
    std::chrono::milliseconds max_pause{};         ///< --max-pause, or its default
    std::chrono::nanoseconds longest_twin_stop{};  ///< in mode snapshot, before it is abandoned
    DumpEstimate dump{};
};

/// Whether each field of the layout is tried at a wrong offset, which takes a few seconds.
enum class Probe : bool { kNo, kFields };

/// Does all steps of a capture up to the first copy. Reads only; nothing is stopped. Errors are
/// those of a refused capture.
Result<NodeCheck> check_node(const capture::CaptureOptions& options, int level, Probe probe,
                             capture::ProgressListener& listener,
                             const std::atomic<bool>& cancelled);

}  // namespace beamdump::check
