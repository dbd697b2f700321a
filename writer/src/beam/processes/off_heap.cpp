#include "beam/processes/off_heap.h"

#include "beam/layout/term_bits.h"

#include <fmt/format.h>

namespace beamdump::beam {
Result<OffHeapWalker> OffHeapWalker::open(Vm& vm) {
    OffHeapWalker walker(vm);
    LayoutNames names(vm.layout());
    walker.thing_word_ = names.field("OffHeapHeader", "thing_word");
    walker.next_ = names.field("OffHeapHeader", "next");
    walker.bytes_ = names.bytes("OffHeapHeader");
    walker.binary_ = names.field({{"ProcBin", "val"}, {"BinRef", "val"}});
    walker.magic_ = names.field("MagicRef", "mb");
    walker.tag_binary_ = names.constant({"refc_binary_subtag", "bin_ref_subtag"});
    walker.tag_reference_ = names.constant("reference_subtag");
    if (auto known = names.outcome(); !known) {
        return std::unexpected(known.error());
    }
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
        const auto tag = head->view().get(thing_word_) & kHeaderTagMask;
        if (tag == tag_binary_ || tag == tag_reference_) {
            const auto field = tag == tag_binary_ ? binary_ : magic_;
            auto binary = vm_->memory().word(address + field.offset);
            if (!binary) {
                return wrap("an off-heap list", binary.error());
            }
            if (auto done = visit(*binary); !done) {
                return done;
            }
        }
        address = head->view().get(next_);
    }
    return {};
}

}  // namespace beamdump::beam
