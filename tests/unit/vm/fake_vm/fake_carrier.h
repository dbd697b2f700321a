#pragma once

#include "fake_vm/fake_vm.h"

#include <vector>

namespace beamdump::test {

/// A block in a carrier of several blocks; the last one goes up to the carrier's end.
struct FakeBlock {
    std::uint64_t size = 0;
    bool is_free = false;
    std::uint64_t flags = 0;  ///< more of the header
};

/// Where the first block begins in fake carriers.
inline constexpr std::uint64_t kFirstBlock = 368;

/// Sets what a carrier counts as blocks in use.
void count_in_carrier(FakeVm& vm, Address carrier, std::uint64_t blocks, std::uint64_t bytes);
/// FakeVm::add_carrier() with these blocks (headers and, of free ones, sizes at their ends); it
/// counts those in use.
Address add_carrier_with(FakeVm& vm, std::uint32_t number, std::uint32_t index, std::uint64_t size,
                         const std::vector<FakeBlock>& blocks);

}  // namespace beamdump::test
