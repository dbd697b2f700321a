#pragma once

#include <libvm/beam/layout/struct_view.h>

#include <cstdint>
#include <optional>

namespace beamdump::beam {

/// Where a process's list of off-heap objects leads back into itself: who frees them never ends.
struct OffHeapCircle {
    Address address = 0;  ///< the first member that is met again
    std::uint64_t members = 0;
    bool operator==(const OffHeapCircle&) const = default;
};

/// Follows `next` of erl_off_heap_header (erl_message.h) from the first member on. Nothing where
/// the list ends, or leads back nowhere within `limit` members. Errors of reading.
Result<std::optional<OffHeapCircle>> find_off_heap_circle(memory::MemorySource& source, Field next,
                                                          Address first, std::uint64_t limit);

}  // namespace beamdump::beam
