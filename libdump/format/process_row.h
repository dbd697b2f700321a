#pragma once

#include <records.pb.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace beamdump {

/// A row's value of one column of the process index; nullopt if unknown.
std::optional<std::uint64_t> column_value(const records::ProcessRow& row,
                                          records::ProcessColumnKind column);

/// Sets one column of a row. A value that is not a member of the column's enumeration is not set.
void set_column(records::ProcessRow& row, records::ProcessColumnKind column, std::uint64_t value);

/// Adds one process to the totals of the trailer.
void add_to_totals(const records::ProcessRow& row, records::Totals& totals);

/// A status as process_info/2 names it, and `free` for a slot whose process is gone; "unknown" for
/// anything else.
std::string_view status_name(records::ProcessStatus status);

/// All names that status_name() gives for known statuses.
std::vector<std::string_view> status_names();

/// The inverse of status_name(); PROCESS_STATUS_UNKNOWN for other names.
records::ProcessStatus status_of_name(std::string_view name);

}  // namespace beamdump
