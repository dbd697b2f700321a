#pragma once

#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/id_table.h>

#include <cstdint>
#include <vector>

namespace beamdump::beam {

/// Reads lists of suspended processes (ErtsProcList, erl_process.h; OTP 25 to 29): circular, linked
/// both ways, the first that came first.
class ProcessListReader {
  public:
    struct Listed {
        std::uint64_t count = 0;
        std::vector<std::uint64_t> owner_ids;  ///< of the first kMostNamed
    };
    static constexpr std::size_t kMostNamed = 100;

    ProcessListReader(Vm& vm, PidWords pids, LayoutNames& names);

    /// The list whose first member's address is at `head`: one whose links lead back and whose
    /// first member is the same before and after; some tries. kImplausible, or why it could not be
    /// read.
    [[nodiscard]] Result<Listed> read(Address head) const;

  private:
    [[nodiscard]] Result<Listed> members(Address first) const;

    Vm* vm_;
    PidWords pids_;
    Field pid_, next_, prev_;
    std::uint32_t member_bytes_ = 0;
};

}  // namespace beamdump::beam
