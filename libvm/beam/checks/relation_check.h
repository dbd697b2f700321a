#pragma once

#include <libvm/beam/checks/checks.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/processes/process.h>
#include <libvm/beam/processes/relations.h>
#include <libvm/beam/tables/id_table.h>

namespace beamdump::beam {

/// Checks a process's links and monitors (erl_monitor_link.h; OTP 25, 27, 29): their types are
/// those of the tree or list that they are in, monitors between local processes have both halves
/// and a reference, and only those made by others are marked as targets.
class RelationCheck {
  public:
    static Result<RelationCheck> open(Vm& vm);

    /// The check that tells how many relations were examined.
    static constexpr auto kCounted = "relations";

    /// False if it was skipped. At most some dozens of each kind are examined.
    bool check(const ProcessView& process, Checks& checks);

  private:
    RelationCheck(Vm& vm, PidWords pids, LayoutNames& names)
        : vm_(&vm), pids_(pids), node_(names), monitor_(names) {}
    void resolve(LayoutNames& names);
    enum class Kind { kLink, kMonitor, kTarget };
    void tree(Address root, Kind kind, Checks& checks);
    void targets(Address first, Checks& checks);
    void link(const StructView& node, Checks& checks);
    void monitor(Address address, const StructView& node, Kind kind, Checks& checks);
    void halves(Address data, const StructView& node, Checks& checks);
    [[nodiscard]] bool party(std::uint64_t word) const;
    [[nodiscard]] bool monitoring(const StructView& data) const;

    Vm* vm_;
    PidWords pids_;
    RelationNodeFields node_;
    MonitorFields monitor_;
    RelationType type_;
    Field heap_ref_;
    std::uint64_t first_link_ = 0, last_link_ = 0, last_monitor_ = 0, monitor_process_ = 0;
    std::uint64_t port_tag_ = 0, atom_tag_ = 0, reference_tag_ = 0;
};

}  // namespace beamdump::beam
