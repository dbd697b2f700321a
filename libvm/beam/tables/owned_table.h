#pragma once

#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/vm/vm.h>

#include <functional>
#include <optional>

namespace beamdump::beam {

/// Reads the rows of an ETS table of type set, bag or duplicate_bag (erl_db_hash.c) that one
/// process owns and refers to.
class OwnedTableReader {
  public:
    static Result<OwnedTableReader> open(Vm& vm);

    /// The table of a reference's magic binary, if it belongs to `owner`, a pid's word. Checked:
    /// the table points back to the binary.
    Result<std::optional<Address>> table_of(Address binary, std::uint64_t owner);

    /// Calls back with the words of each row's tuple, its header first, `words` at most.
    /// kImplausible if the table is inconsistent, e.g. because it changes meanwhile.
    Result<void> rows(Address table, std::size_t words,
                      const std::function<void(std::span<const std::uint64_t>)>& visit);

  private:
    OwnedTableReader(Vm& vm, const BinaryFields& binary) : vm_(&vm), binary_(binary) {}
    Result<void> chain(Address first, std::size_t words, std::uint64_t& rows,
                       const std::function<void(std::span<const std::uint64_t>)>& visit);

    Vm* vm_;
    BinaryFields binary_;
    Field owner_, of_binary_, active_, segments_, next_, tuple_;
};

}  // namespace beamdump::beam
