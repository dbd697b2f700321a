#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/processes/off_heap.h>

#include <fmt/format.h>

namespace beamdump::beam {
Result<OffHeapWalker> OffHeapWalker::open(Vm& vm) {
    LayoutNames names(vm.layout());
    OffHeapWalker walker(vm, BinaryReferenceFields(names));
    walker.thing_word_ = names.field(runtime::OffHeapHeader::thing_word);
    walker.next_ = names.field(runtime::OffHeapHeader::next);
    walker.bytes_ = names.bytes(runtime::OffHeapHeader::kName);
    RETURN_IF_ERROR(names.outcome());
    return walker;
}

Result<void> OffHeapWalker::binaries(Address first, std::uint64_t limit,
                                     const std::function<Result<void>(Address)>& visit) {
    std::uint64_t seen = 0;
    for (auto address = first; address != 0;) {
        if (++seen > limit) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("the off-heap list at {:#x} does not end after {} members",
                                    first, limit));
        }
        auto head = OwnedStruct::read(vm_->memory(), address, bytes_);
        if (!head) {
            return wrap("an off-heap list", head.error());
        }
        auto header = head->view().get(thing_word_);
        if (is_boxed(header)) {
            // A collection has copied it; all but its header is still there.
            auto copied = vm_->memory().word(boxed_address(header));
            if (!copied) {
                return wrap("an off-heap list", copied.error());
            }
            header = *copied;
        }
        const auto tag = header & kHeaderTagMask;
        if (tag == reference_.subtag || tag == reference_.magic_subtag) {
            const auto field =
                tag == reference_.subtag ? reference_.binary : reference_.magic_binary;
            auto binary = vm_->memory().word(address + field.offset);
            if (!binary) {
                return wrap("an off-heap list", binary.error());
            }
            RETURN_IF_ERROR(visit(*binary));
        }
        address = head->view().get(next_);
    }
    return {};
}

}  // namespace beamdump::beam
