#pragma once

#include <libvm/beam/ets/ets_table.h>
#include <libvm/beam/vm/vm.h>

#include <optional>

namespace beamdump::beam {

/// Rows and bytes of a table.
struct EtsCounts {
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;
};

/// Reads a table's counters (erl_flxctr.h): words in its structure, or, decentralized, one line of
/// them for each group of schedulers, whose sum counts.
class EtsCounters {
  public:
    /// `processors`: configured in the node's machine; nothing: not known (a core).
    static Result<EtsCounters> open(Vm& vm, std::optional<std::uint32_t> processors);

    /// Nothing where the counters are being summed up by the node, or where it is not known how
    /// many lines there are.
    Result<std::optional<EtsCounts>> read(StructView table);

  private:
    EtsCounters(Vm& vm, LayoutNames& names) : vm_(&vm), fields_(names) {}
    Result<std::optional<EtsCounts>> sum(Address lines);

    Vm* vm_;
    EtsTableFields fields_;
    Field status_, first_line_, block_;
    std::uint32_t line_bytes_ = 0;
    std::uint64_t lines_ = 0;
};

}  // namespace beamdump::beam
