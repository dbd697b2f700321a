#pragma once

#include <libvm/beam/vm/vm.h>

#include <cstdint>
#include <vector>

namespace beamdump::beam {

/// Walks the runtime's index tables (index.h): index -> object, through segments of 1024 pointers.
class IndexTableWalker {
  public:
    /// `table`: address of the IndexTable.
    static Result<IndexTableWalker> open(Vm& vm, Address table);

    [[nodiscard]] std::uint32_t entries() const { return entries_; }

    /// Addresses of objects first .. first+count-1 (fewer at the end).
    Result<std::vector<Address>> objects(std::uint32_t first, std::uint32_t count);

  private:
    Vm* vm_ = nullptr;
    Address segments_ = 0;
    std::uint32_t entries_ = 0;
    std::uint32_t page_shift_ = 0;
};

/// The address of one object of an index table. Not cached.
Result<Address> index_object(Vm& vm, Address table, std::uint32_t index);

/// Addresses of all objects in a runtime hash table (hash.h), bucket by bucket. A running node
/// changes the table while it is read: the number may differ from the table's own count by an
/// eighth of it, be one more, or 64 fewer; kImplausible if it differs by more, so that a torn chain
/// ends.
Result<std::vector<Address>> hash_objects(Vm& vm, Address table);

}  // namespace beamdump::beam
