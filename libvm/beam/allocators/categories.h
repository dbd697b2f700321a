#pragma once

#include <libvm/beam/allocators/areas.h>

#include <records.pb.h>

#include <span>

namespace beamdump::beam {

/// erlang:memory/0's categories by the rules of erts_memory() (erl_alloc.c), from the counters of
/// all allocators' instances and the areas. A category of which a part is unknown is not in it.
MemoryAmounts memory_categories(const Layout& layout,
                                std::span<const records::AllocatorInstance> allocators,
                                const MemoryAmounts& areas);

}  // namespace beamdump::beam
