#include <libdump/base/return_if_error.h>
#include <libvm/beam/processes/fragments.h>

#include <fmt/format.h>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kMaxFragmentWords = std::uint64_t{1} << 40U;

}  // namespace

Result<FragmentReader> FragmentReader::open(Vm& vm) {
    FragmentReader reader(vm);
    LayoutNames names(vm.layout());
    reader.next_ = names.field("ErlHeapFragment", "next");
    reader.off_heap_ = names.field("ErlHeapFragment", "off_heap.first");
    reader.allocated_ = names.field("ErlHeapFragment", "alloc_size");
    reader.used_ = names.field("ErlHeapFragment", "used_size");
    reader.mem_ = names.field("ErlHeapFragment", "mem");
    reader.bytes_ = names.bytes("ErlHeapFragment");
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

Result<Fragment> FragmentReader::read(Address header) {
    // Reads the header only: a fragment may have no words.
    auto raw =
        OwnedStruct::read(vm_->memory(), header, end_of({next_, off_heap_, allocated_, used_}));
    if (!raw) {
        return wrap("a heap fragment", raw.error());
    }
    const auto view = raw->view();
    Fragment fragment{header,
                      header + mem_.offset,
                      view.get(used_),
                      view.get(allocated_),
                      view.get(off_heap_),
                      view.get(next_)};
    if (fragment.used_words > fragment.allocated_words ||
        fragment.allocated_words > kMaxFragmentWords) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("heap fragment at {:#x}: {} words used of {}", header,
                                fragment.used_words, fragment.allocated_words));
    }
    return fragment;
}

Result<void> FragmentReader::chain(Address first, std::uint64_t limit,
                                   const std::function<Result<void>(const Fragment&)>& visit) {
    std::uint64_t seen = 0;
    for (auto address = first; address != 0;) {
        if (++seen > limit) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("the chain of heap fragments at {:#x} does not end after {}",
                                    first, limit));
        }
        ASSIGN_OR_RETURN(auto fragment, read(address));
        RETURN_IF_ERROR(visit(fragment));
        address = fragment.next;
    }
    return {};
}

}  // namespace beamdump::beam
