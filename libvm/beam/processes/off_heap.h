#pragma once

#include <libvm/beam/layout/structs.h>
#include <libvm/beam/processes/process.h>

#include <functional>

namespace beamdump::beam {

/// A member of an off-heap list that refers to a Binary.
struct BinaryReference {
    Address thing = 0;   ///< the ProcBin, BinRef or magic reference
    Address binary = 0;  ///< magic ones too
    /// Where what a ProcBin shows begins, and how long it is. 0: another thing.
    Address content = 0;
    std::uint64_t bytes = 0;
};

/// Walks an owner's off-heap list of reference-counted binaries, funs, external identifiers and
/// magic references (erl_message.h, erl_off_heap_header).
class OffHeapWalker {
  public:
    static Result<OffHeapWalker> open(Vm& vm);

    /// Calls back with each reference to a Binary in the list from `first` on. kImplausible after
    /// `limit` members.
    Result<void> binaries(Address first, std::uint64_t limit,
                          const std::function<Result<void>(const BinaryReference&)>& visit);

  private:
    OffHeapWalker(Vm& vm, const BinaryReferenceFields& reference)
        : vm_(&vm), reference_(reference) {}
    Result<BinaryReference> reference(Address thing, std::uint64_t tag);

    Vm* vm_;
    BinaryReferenceFields reference_;
    Field thing_word_, next_;
    std::uint32_t bytes_ = 0;
};

}  // namespace beamdump::beam
