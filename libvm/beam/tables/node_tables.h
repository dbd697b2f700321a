#pragma once

#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/modules.h>
#include <libvm/beam/vm/vm.h>

#include <functional>

namespace beamdump::beam {

/// Export entries of the active code index (export.c), paged.
class ExportReader {
  public:
    static Result<ExportReader> open(Vm& vm);
    [[nodiscard]] std::uint32_t count() const { return table_.entries(); }
    Result<records::Exports> page(std::uint32_t first, std::uint32_t most);

  private:
    ExportReader(Vm& vm, IndexTableWalker table, AtomWords atoms)
        : vm_(&vm), table_(table), atoms_(atoms) {}
    Vm* vm_;
    IndexTableWalker table_;
    AtomWords atoms_;
    Field entry_export_;
    std::optional<ExportFields> export_;  ///< set once the names are resolved
};

/// Takes a page of a table; an error ends the reading.
template <typename Page>
using TakePage = std::function<Result<void>(const Page&)>;

/// All fun entries (erl_fun.c) as pages of at most `most`, one at a time: there may be many.
Result<void> read_fun_entries(Vm& vm, std::size_t most, const TakePage<records::FunEntries>& take);
/// All fun entries, held together.
Result<std::vector<records::FunEntries>> read_fun_entries(Vm& vm, std::size_t most);

/// All node entries (erl_node_tables.c), the node itself among them.
Result<std::vector<records::NodeEntries>> read_node_entries(Vm& vm, std::size_t most);

/// The active catch table (beam_catches.c) as pages of at most `most`.
Result<std::vector<records::Catches>> read_catches(Vm& vm, std::size_t most);

/// Shared code addresses, with what the VM prints for them in a backtrace.
records::CodePoints code_points(const Vm& vm);

/// The node's own name and creation.
struct NodeName {
    std::uint32_t atom = 0;
    std::uint32_t creation = 0;
};
Result<NodeName> read_node_name(Vm& vm);

/// The process registered under a name (register.c), 0 for none.
Result<Address> registered_process(Vm& vm, std::uint64_t name_word);

}  // namespace beamdump::beam
