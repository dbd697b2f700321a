#pragma once

#include "beam/search/image_search.h"
#include "beam/vm/vm.h"

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

}  // namespace beamdump::beam
