#pragma once

#include <libvm/beam/processes/process.h>

#include <functional>

namespace beamdump::beam {

/// A heap fragment (erl_message.h): a header and words of terms.
struct Fragment {
    Address header = 0;
    Address words_begin = 0;
    std::uint64_t used_words = 0;
    std::uint64_t allocated_words = 0;
    Address off_heap = 0;
    Address next = 0;
};

/// Reads fragments and chains of them.
class FragmentReader {
  public:
    static Result<FragmentReader> open(Vm& vm);

    /// kImplausible if the used size exceeds the allocated one, or the size the address space.
    Result<Fragment> read(Address header);

    /// Follows a chain; at most `limit` fragments, then kImplausible.
    Result<void> chain(Address first, std::uint64_t limit,
                       const std::function<Result<void>(const Fragment&)>& visit);

  private:
    explicit FragmentReader(Vm& vm) : vm_(&vm) {}
    Vm* vm_;
    Field next_, off_heap_, allocated_, used_, mem_;
    std::uint32_t bytes_ = 0;
};

}  // namespace beamdump::beam
