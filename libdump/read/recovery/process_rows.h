#pragma once

#include <records.pb.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace beamdump {

/// The index row of a process's run, from the records that open and close it. Unknown columns stay
/// unset.
records::ProcessRow row_of(const records::Process& process, const records::ProcessEnd& end,
                           std::uint64_t end_offset);

/// The `limit` rows with the largest values of a column, largest first; rows whose value is 0 or
/// unknown are omitted.
records::TopList top_list(const std::vector<records::ProcessRow>& rows,
                          records::ProcessColumnKind by, std::size_t limit);

}  // namespace beamdump
