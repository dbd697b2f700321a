#pragma once

#include "query/process/opened_process.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace beamdump::query {

/// The applications of processes that are read one by one. A process belongs to the application
/// whose master is its group leader: application_master:main_loop/2 keeps {state,_,{appl_data,Name,
/// ...},...} in a y register (application_master.erl, OTP 25, 27 and 29). A crash dump's text has
/// no group leaders.
class ApplicationReader {
  public:
    static Result<ApplicationReader> make(Dump& dump);

    void read(OpenedProcess& process);

    /// Owner ids and applications of the processes read whose masters were read too.
    [[nodiscard]] std::vector<std::pair<std::uint64_t, std::string>> applications() const;

  private:
    std::optional<std::string> master_of(OpenedProcess& process) const;

    std::optional<std::uint32_t> module_;  ///< the atom application_master; none: no such process
    std::optional<std::uint32_t> data_;    ///< appl_data
    std::unordered_map<std::uint64_t, std::uint64_t> leaders_;   ///< by owner id
    std::unordered_map<std::uint64_t, std::string> of_masters_;  ///< by owner id
};

/// The applications of processes by their owner ids, as Erlang prints the names. None of a process
/// whose group leader is no application's master, or which the dump does not tell. Reads these
/// processes and the masters, in the order of the file. Memory: the names.
Result<std::unordered_map<std::uint64_t, std::string>> applications_of(
    Dump& dump, const std::set<std::uint64_t>& owner_ids);

}  // namespace beamdump::query
