#pragma once

#include "fake_vm/fake_vm.h"

#include <span>
#include <string_view>
#include <vector>

namespace beamdump::test {

/// A process of a fake VM that waits in a receive: structure, heap block and stack. Terms are built
/// on its heap; those that own something beyond it are put into its off-heap list.
class FakeProcess {
  public:
    /// `slot`: of the process table; the pid names it. `pc`: where it waits.
    FakeProcess(FakeVm& vm, std::uint32_t slot, const FakeModule& module,
                std::size_t heap_words = 256);

    [[nodiscard]] FakeStruct& structure() { return structure_; }
    [[nodiscard]] Address address() const { return structure_.address(); }
    [[nodiscard]] std::uint32_t slot() const { return slot_; }
    [[nodiscard]] std::uint64_t pid() const { return vm_->pid(slot_); }
    [[nodiscard]] std::vector<std::byte> bytes() const;

    /// Puts words on the young heap and returns their address.
    Address build(const std::vector<std::uint64_t>& words);
    /// The stack grows down.
    void push(std::uint64_t word);

    std::uint64_t cons(std::uint64_t head, std::uint64_t tail);
    std::uint64_t tuple(std::vector<std::uint64_t> elements);
    /// A reference to a Binary and, in releases that have BinRef, the bit string over it.
    std::uint64_t binary(Address binary, std::uint64_t bytes);
    /// A sub binary of the binary that binary() made last.
    std::uint64_t part(Address binary, std::uint64_t first_byte, std::uint64_t bytes);
    /// A magic reference.
    std::uint64_t magic(Address binary);
    /// A local fun of that ErlFunEntry with these values of its environment.
    std::uint64_t fun(Address entry, const std::vector<std::uint64_t>& environment = {});
    /// fun M:F/A.
    std::uint64_t external_fun(Address exported);

    /// A dictionary of these slots: [] or {Key, Value}, or lists of them.
    void dictionary(const std::vector<std::uint64_t>& slots);
    /// Specific data: ErtsPSD, empty.
    FakeStruct specific_data();
    /// An old heap that holds these words.
    void old_heap(const std::vector<std::uint64_t>& words);
    /// A heap fragment in front of those that it has.
    FakeStruct fragment(const std::vector<std::uint64_t>& words);

    /// The address of the last thing that was put into the off-heap list.
    [[nodiscard]] Address off_heap() const { return structure_.get("off_heap.first"); }

  private:
    void own(Address thing);

    FakeVm* vm_;
    std::uint32_t slot_;
    FakeStruct structure_;
};

/// A heap fragment of a fake VM with these words, which leads to nothing.
FakeStruct make_fragment(FakeVm& vm, const std::vector<std::uint64_t>& words);

}  // namespace beamdump::test
