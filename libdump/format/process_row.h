#pragma once

#include <records.pb.h>

#include <array>
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

/// The row of a process, from the records that open and close its run, the latter at `end_offset`
/// of the flat stream. What the records do not tell stays unset.
void set_row(const records::Process& process, const records::ProcessEnd& end,
             std::uint64_t end_offset, records::ProcessRow& into);

/// Keys of dictionaries whose values name their process. The bit of a key in naming_keys_absent of
/// records::Process is 1 << its place.
inline constexpr auto kNamingKeys = std::to_array<std::string_view>({
    "$process_label",  // proc_lib:set_label/1 from OTP 27 on; before, Elixir's Process.set_label/1
    "process_name",    // RabbitMQ's rabbit_misc:store_proc_name/1
});

/// Links and monitors of a process, as process_info counts them (erl_bif_info.c,
/// collect_one_link(), collect_one_origin_monitor() and collect_one_target_monitor(), OTP 25 to
/// 29).
struct RelationCounts {
    std::uint64_t linked = 0;
    std::uint64_t monitored = 0;  ///< by the process
    std::uint64_t monitored_by = 0;

    /// Adds a page. `pending`: the bit of a monitor's flags that says that its process is still
    /// being spawned; 0 for a dump without flags.
    void add(const records::Relations& page, std::uint64_t pending = 0);
    void set(records::ProcessEnd& end) const;
};

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
