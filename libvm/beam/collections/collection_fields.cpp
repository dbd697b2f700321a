#include <libvm/beam/collections/collection_fields.h>

namespace beamdump::beam {
namespace {

/// F_DIRTY_GC_HIBERNATE and F_DIRTY_MAJOR_GC (erl_process.h, OTP 25 to 29).
constexpr std::uint64_t kFullsweep = 1U << 18U | 1U << 19U;

}  // namespace

CollectionFields::CollectionFields(LayoutNames& names)
    : heap(names.field("Process", "heap")),
      htop(names.field("Process", "htop")),
      hend(names.field("Process", "hend")),
      stop(names.field("Process", "stop")),
      high_water(names.field("Process", "high_water")),
      heap_sz(names.field("Process", "heap_sz")),
      abandoned_heap(names.field("Process", "abandoned_heap")),
      old_heap(names.field("Process", "old_heap")),
      old_htop(names.field("Process", "old_htop")),
      old_hend(names.field("Process", "old_hend")),
      state(names.field("Process", "state")),
      flags(names.field("Process", "flags")),
      bytes(names.bytes("Process")) {}

Span CollectionFields::abandoned(const StructView& structure) const {
    const auto begin = structure.get(abandoned_heap);
    return begin == 0 ? Span{}
                      : Span{begin, begin + structure.get(heap_sz) * sizeof(std::uint64_t)};
}

bool CollectionFields::heap_is_consistent(const StructView& structure) const {
    // With an abandoned heap the size is that one's.
    return structure.get(abandoned_heap) != 0 ||
           structure.get(heap) + structure.get(heap_sz) * sizeof(std::uint64_t) ==
               structure.get(hend);
}

bool CollectionFields::stack_is_in_place(const StructView& structure) const {
    const auto top = structure.get(stop);
    return structure.get(heap) <= top && top <= structure.get(hend);
}

bool CollectionFields::old_heap_may_be_freed(const StructView& structure) const {
    return (structure.get(flags) & kFullsweep) != 0 && structure.get(old_heap) == 0;
}

bool CollectionFields::mark_is_in_place(const StructView& structure) const {
    const auto mark = structure.get(high_water);
    const auto former = abandoned(structure);
    return (structure.get(heap) <= mark && mark <= structure.get(hend)) ||
           (former.begin != 0 && former.begin <= mark && mark <= former.end);
}

}  // namespace beamdump::beam
