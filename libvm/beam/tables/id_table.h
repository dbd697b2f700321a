#pragma once

#include <libdump/term/term_scheme.h>
#include <libvm/beam/vm/vm.h>

#include <optional>
#include <string_view>

namespace beamdump::beam {

/// One used slot of an id table.
struct IdSlot {
    std::uint32_t slot = 0;
    Address address = 0;
};

/// The table of processes or of ports (ErtsPTab, erl_ptab.h). Slots are scrambled over cache lines:
/// slot order is not the order of ids.
class IdTable {
  public:
    /// `what`: for errors.
    static Result<IdTable> open(Vm& vm, Address table, std::string_view what);
    /// erts_proc. A pid's word holds its slot in the upper half (erts_ptab_make_id, 64-bit).
    static Result<IdTable> processes(Vm& vm) {
        return open(vm, vm.tables().processes, "process table");
    }
    /// erts_port.
    static Result<IdTable> ports(Vm& vm) { return open(vm, vm.tables().ports, "port table"); }

    /// Slots in the table: the limit of processes or ports.
    [[nodiscard]] std::uint32_t slots() const { return slots_; }
    /// How many elements the table counts, those being created or deleted among them.
    [[nodiscard]] std::uint32_t count() const { return count_; }
    /// How many elements were made since the node began, modulo 2^32; nullopt where the layout does
    /// not have it, or the table does not count it (`+P legacy`).
    [[nodiscard]] std::optional<std::uint32_t> made() const { return made_; }

    /// The used ones among slots first .. first+most-1; free and reserved slots are left out.
    Result<std::vector<IdSlot>> used(std::uint32_t first, std::uint32_t most);
    /// Whether the slot holds that element now.
    Result<bool> holds(const IdSlot& slot);

  private:
    Vm* vm_ = nullptr;
    std::string_view what_;
    Address tab_ = 0;
    Address invalid_ = 0;
    std::uint32_t slots_ = 0;
    std::uint32_t count_ = 0;
    std::optional<std::uint32_t> made_;
};

/// How the node's words of ports are made (port_number()).
Result<TagScheme> port_scheme(Vm& vm);

/// The owner id (number and serial as printed in <0.Number.Serial>) of a local pid's word. If the
/// word has all of a pid's data (from OTP 27 on), its lowest bits are the slot instead.
struct PidWords {
    std::uint64_t tag = 0, shift = 0, number_bits = 0;
    std::uint64_t slots = 0;
    /// `slots`: of the process table.
    static Result<PidWords> resolve(const Layout& layout, std::uint32_t slots);
    static Result<PidWords> of(Vm& vm);
    [[nodiscard]] std::optional<std::uint64_t> owner_id(std::uint64_t word) const;
    /// The process's slot in the table. The word must be a pid.
    [[nodiscard]] std::uint64_t slot(std::uint64_t word) const;

  private:
    [[nodiscard]] bool holds_slot() const;
};

}  // namespace beamdump::beam
