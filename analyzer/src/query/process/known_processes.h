#pragma once

#include "query/rows/row_list.h"

#include <libdump/model/dump.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace beamdump::query {

/// The processes of a dump, and their registered names. Memory: 8 bytes each, and the names.
class KnownProcesses {
  public:
    static Result<KnownProcesses> read(Dump& dump);

    /// The registered name of the process with that pid, if it has one.
    [[nodiscard]] Cell name_of(const std::string& pid) const;
    /// Whether no process has that pid, `<0.12.0>`. Absent: the dump lacks it and cannot tell.
    /// Where processes are listed while the node runs, it had not been there yet, or was exiting. A
    /// dump of one moment (freeze, snapshot) has all, and a crash dump's text, if it is complete.
    [[nodiscard]] std::optional<bool> is_missing(std::uint64_t owner_id) const;
    [[nodiscard]] std::optional<bool> is_missing(std::string_view pid) const;
    /// Whether no process has that registered name, as atom_text() prints it. Absent: as above,
    /// where the dump ends early. A capture has the registered names of one moment.
    [[nodiscard]] std::optional<bool> is_missing_name(const std::string& name) const;

  private:
    bool all_ = false;                // the dump has all processes of the node
    bool cut_off_ = false;            // the dump may lack any part
    std::vector<std::uint64_t> ids_;  // sorted
    std::unordered_set<std::string> names_;
    std::unordered_map<std::string, std::string> name_of_;
};

/// The places of derived columns about the processes whose pids are in another column.
struct OwnerColumns {
    std::size_t pid = 0;
    std::size_t name = 0;  ///< as tables show it: shown_name()
    std::optional<std::size_t> initial_call = {};
    std::optional<std::size_t> application = {};
};
/// Fills them.
Result<void> name_processes(Dump& dump, RowList& list, const OwnerColumns& columns);

}  // namespace beamdump::query
