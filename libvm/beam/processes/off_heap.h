#pragma once

#include <libvm/beam/layout/structs.h>
#include <libvm/beam/processes/process.h>

#include <functional>

namespace beamdump::beam {

/// Walks an owner's off-heap list of reference-counted binaries, funs, external identifiers and
/// magic references (erl_message.h, erl_off_heap_header).
class OffHeapWalker {
  public:
    static Result<OffHeapWalker> open(Vm& vm);

    /// Calls back with the address of each Binary (magic ones too) in the list from `first` on.
    /// kImplausible after `limit` members.
    Result<void> binaries(Address first, std::uint64_t limit,
                          const std::function<Result<void>(Address binary)>& visit);

  private:
    OffHeapWalker(Vm& vm, const BinaryReferenceFields& reference)
        : vm_(&vm), reference_(reference) {}
    Vm* vm_;
    BinaryReferenceFields reference_;
    Field thing_word_, next_;
    std::uint32_t bytes_ = 0;
};

}  // namespace beamdump::beam
