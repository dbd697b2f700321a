#pragma once

#include <libvm/beam/processes/process.h>

namespace beamdump::beam {

/// The fields of Process by which a collection's progress is told (erl_gc.c, OTP 25 to 29).
struct CollectionFields {
    explicit CollectionFields(LayoutNames& names);

    /// The whole abandoned heap block; empty if there is none.
    [[nodiscard]] Span abandoned(const StructView& structure) const;
    /// Whether the heap's fields agree about its size: hibernation changes them one by one, and
    /// meanwhile offsets all pointers.
    [[nodiscard]] bool heap_is_consistent(const StructView& structure) const;
    /// Whether the stack has not been moved to a new block.
    [[nodiscard]] bool stack_is_in_place(const StructView& structure) const;
    /// Whether the high-water mark is not yet that of a new block.
    [[nodiscard]] bool mark_is_in_place(const StructView& structure) const;

    /// Whether a fullsweep has no old heap. It is freed before a field names the new block
    /// (erl_gc.c, full_sweep_heaps()): what was moved out of it is then not known.
    [[nodiscard]] bool old_heap_may_be_freed(const StructView& structure) const;

    Field heap, htop, hend, stop, high_water, heap_sz, abandoned_heap, old_heap, old_htop, old_hend,
        state, flags;
    std::uint32_t bytes;
};

}  // namespace beamdump::beam
