#pragma once

#include <libvm/beam/search/image_search.h>
#include <libvm/beam/vm/vm.h>

#include <string_view>

namespace beamdump::beam {

/// Addresses and counts of the schedulers' data.
struct SchedulerArray {
    Address address = 0;
    std::uint32_t count = 0;
};

struct SchedulerArrays {
    SchedulerArray normal;
    SchedulerArray dirty_cpu;
    SchedulerArray dirty_io;
};

/// Finds erts_aligned_scheduler_data and its two dirty counterparts (erl_process.c) through the
/// words of the runtime's data that point to them: arrays whose members number themselves, contain
/// their kind, and whose run queues point back to them.
Result<SchedulerArrays> find_scheduler_arrays(Vm& vm, const ImageSearch& search);

/// erl_vm.h: ERTS_MAX_NO_OF_SCHEDULERS, of each kind.
inline constexpr std::uint32_t kMaxSchedulers = 1024;

/// The kinds of schedulers (erl_process.h, ErtsSchedType).
enum class SchedulerKind : std::uint8_t { kNormal, kDirtyCpu, kDirtyIo };

/// kImplausible if the array does not have as many members, each of which numbers itself.
Result<void> check_scheduler_array(Vm& vm, std::string_view name, const SchedulerArray& array,
                                   SchedulerKind kind);

}  // namespace beamdump::beam
