#include <libdump/base/return_if_error.h>
#include <libvm/beam/processes/process_size.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kMaxProcessWords = std::uint64_t{1} << 44U;  // more is garbage

}  // namespace

Result<ProcessSizer> ProcessSizer::open(Vm& vm) {
    LayoutNames names(vm.layout());
    ProcessSizer sizer(vm, QueueCounter(names));
    sizer.bytes_ = names.bytes("Process");
    sizer.id_ = names.field("Process", "common.id");
    sizer.heap_sz_ = names.field("Process", "heap_sz");
    sizer.old_heap_ = names.field("Process", "old_heap");
    sizer.old_hend_ = names.field("Process", "old_hend");
    sizer.mbuf_sz_ = names.field("Process", "mbuf_sz");
    sizer.reds_ = names.field("Process", "reds");
    RETURN_IF_ERROR(names.outcome());
    return sizer;
}

ProcessSize ProcessSizer::size(std::span<const std::byte> structure) const {
    const StructView view(structure);
    const auto old_bytes = view.get(old_hend_) - std::min(view.get(old_heap_), view.get(old_hend_));
    const auto words = [&](Field field) { return std::min(view.get(field), kMaxProcessWords); };
    return {view.get(id_),
            (words(heap_sz_) + words(mbuf_sz_)) * 8 + std::min(old_bytes, kMaxProcessWords * 8),
            queues_.count(*vm_, view).all().value_or(0), view.get(reds_)};
}

}  // namespace beamdump::beam
