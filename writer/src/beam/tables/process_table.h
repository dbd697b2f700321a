#pragma once

#include "beam/vm/vm.h"

namespace beamdump::beam {

/// One used slot of the process table.
struct ProcessSlot {
    std::uint32_t slot = 0;
    Address process = 0;
};

/// The process table (erl_ptab.h). Slots are scrambled over cache lines: slot order is not pid
/// order. A pid's word holds its slot in the upper half (erts_ptab_make_id, 64-bit).
class ProcessTable {
  public:
    static Result<ProcessTable> open(Vm& vm);
    /// Slots of the table of ports: the node's port limit.
    static Result<std::uint32_t> port_slots(Vm& vm);

    /// Slots in the table: the node's process limit.
    [[nodiscard]] std::uint32_t slots() const { return slots_; }
    /// How many processes the table counts, those being created or deleted among them.
    [[nodiscard]] std::uint32_t count() const { return count_; }

    /// The used ones among slots first .. first+most-1; free and reserved slots are left out.
    Result<std::vector<ProcessSlot>> used(std::uint32_t first, std::uint32_t most);

  private:
    Vm* vm_ = nullptr;
    Address tab_ = 0;
    Address invalid_ = 0;
    std::uint32_t slots_ = 0;
    std::uint32_t count_ = 0;
};

/// The process registered under a name (register.c), 0 for none.
Result<Address> registered_process(Vm& vm, std::uint64_t name_word);

}  // namespace beamdump::beam
