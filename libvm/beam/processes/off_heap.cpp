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

Result<void> OffHeapWalker::binaries(
    Address first, std::uint64_t limit,
    const std::function<Result<void>(const BinaryReference&)>& visit) {
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
            auto found = reference(address, tag);
            if (!found) {
                return wrap("an off-heap list", found.error());
            }
            RETURN_IF_ERROR(visit(*found));
        }
        address = head->view().get(next_);
    }
    return {};
}

Result<BinaryReference> OffHeapWalker::reference(Address thing, std::uint64_t tag) {
    BinaryReference found;
    found.thing = thing;
    const bool magic = tag == reference_.magic_subtag;
    const auto& field = magic ? reference_.magic_binary : reference_.binary;
    ASSIGN_OR_RETURN(found.binary, vm_->memory().word(thing + field.offset));
    if (!magic && reference_.content && reference_.size) {
        ASSIGN_OR_RETURN(found.content, vm_->memory().word(thing + reference_.content->offset));
        ASSIGN_OR_RETURN(found.bytes, vm_->memory().word(thing + reference_.size->offset));
    }
    return found;
}

}  // namespace beamdump::beam
