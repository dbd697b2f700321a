#pragma once

#include <libvm/beam/ets/ets_table.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/beam/vm/steady_read.h>
#include <libvm/beam/vm/vm.h>

#include <optional>
#include <string>
#include <vector>

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

/// All tables that were found, and one sentence for each scheduler whose list was not read whole.
struct EtsTableList {
    std::vector<EtsTableView> tables;
    std::vector<std::string> doubts;
};

/// The node's ETS tables: each is in the list of the scheduler that created it
/// (ErtsSchedulerData's ets_tables, erl_db.c of OTP 25 to 29), a circle that this scheduler alone
/// changes, without a lock. A walk that meets a change begins anew.
class EtsReader {
  public:
    /// kNotFound: the schedulers were not found. `processors`: see EtsCounters.
    static Result<EtsReader> open(Vm& vm, std::optional<std::uint32_t> processors);

    /// While the node is `moving`, a list that contradicts itself is read again. Deleted tables
    /// that are not freed yet are left out, as by ets:all/0.
    Result<EtsTableList> read(const Moving& moving);

    /// A table's structure as it is now. kImplausible: there is no table.
    Result<EtsTableView> table(Address address);

    [[nodiscard]] const EtsTableFields& fields() const { return fields_; }

  private:
    EtsReader(Vm& vm, LayoutNames& names, EtsCounters counters, PidWords pids, AtomWords atoms)
        : vm_(&vm),
          fields_(names),
          binary_(names),
          counters_(std::move(counters)),
          pids_(pids),
          atoms_(atoms) {}

    struct Walk {
        std::vector<EtsTableView> tables;
        std::uint64_t members = 0;  ///< deleted ones too
        std::string doubt;          ///< why the list was not read to its end
    };
    Result<Walk> walk(Address scheduler, bool moving);
    Result<EtsTableView> decode(Address address, StructView view);
    Result<void> fixers(StructView view, records::EtsTable& facts);
    struct Fixers;
    Result<Fixers> read_fixers(Address table);
    Result<void> identify(StructView view, records::EtsTable& facts);
    void options(std::uint64_t status, records::EtsTable& facts) const;

    Vm* vm_;
    EtsTableFields fields_;
    BinaryFields binary_;
    EtsCounters counters_;
    PidWords pids_;
    AtomWords atoms_;
    Field count_, list_;
    Field fixer_left_, fixer_right_, fixer_process_, fixer_count_, process_id_;
    std::uint32_t fixer_bytes_ = 0;
    std::uint64_t stride_ = 0;
};

/// How many ETS tables there are, as erlang:system_info(ets_count) says: each scheduler counts
/// those in its list, deleted ones that are not freed yet too. kNotFound: the schedulers were not
/// found.
Result<std::uint64_t> count_ets_tables(Vm& vm);

}  // namespace beamdump::beam
