#include "query/things/thing_kinds.h"

#include "query/activity/nodes.h"
#include "query/activity/ports.h"
#include "query/activity/schedulers.h"
#include "query/activity/sockets.h"
#include "query/activity/timers.h"
#include "query/holders/node_binaries.h"
#include "query/memory/allocators.h"
#include "query/process/process_line.h"
#include "query/tables/atoms.h"
#include "query/tables/ets_tables.h"
#include "query/tables/modules.h"
#include "query/tables/persistent_terms.h"

#include <algorithm>
#include <array>
#include <vector>

namespace beamdump::query {

namespace {

constexpr Column text(std::string_view name) {
    return {.name = name, .title = {}, .kind = ColumnKind::kText};
}
constexpr Column count(std::string_view name) {
    return {.name = name, .title = {}, .kind = ColumnKind::kCount};
}
constexpr Column flag(std::string_view name) {
    return {.name = name, .title = {}, .kind = ColumnKind::kFlag};
}

constexpr std::array kDump = {text("file"),
                              count("file_bytes"),
                              flag("complete"),
                              text("damage"),
                              text("otp_release"),
                              text("erts_version"),
                              flag("jit"),
                              count("boot_us"),
                              count("uptime_us"),
                              text("host_name"),
                              text("os_release"),
                              count("os_pid"),
                              count("schedulers"),
                              count("process_limit"),
                              text("mode"),
                              text("tool_version"),
                              text("layout"),
                              flag("layout_inferred"),
                              text("unverified"),
                              text("slogan"),
                              text("crash_date"),
                              count("processes"),
                              count("processes_void"),
                              count("messages"),
                              count("reductions"),
                              count("binaries"),
                              count("atoms"),
                              count("module_instances"),
                              count("process_memory"),
                              count("process_heaps"),
                              count("binary_memory"),
                              count("code_memory"),
                              count("atom_memory"),
                              count("literal_memory"),
                              count("resident_bytes"),
                              count("unexplained_bytes")};
constexpr std::array kFinding = {text("id"), text("sentence"), text("command")};
constexpr std::array kFindingLeftOut = {text("id"), text("reason")};
constexpr std::array kMemoryCategory = {text("category"), count("bytes")};
constexpr std::array kResident = {text("name"), count("bytes"), count("blocks")};
constexpr std::array kGroup = {text("group_by"), text("name"),        count("count"),
                               count("memory"),  count("reductions"), count("message_queue_len"),
                               text("largest")};
constexpr std::array kParent = {text("pid"), text("parent")};
constexpr std::array kWait = {text("pid"), text("waits_for")};
constexpr std::array kLink = {text("pid"), text("other_kind"), text("other"), flag("unlinking")};
constexpr std::array kMonitor = {text("pid"), text("other_kind"), text("other"), text("reference")};
constexpr std::array kFrame = {text("pid"),  count("frame"), text("function"),
                               text("file"), count("line"),  flag("more")};
constexpr std::array kMessageShape = {text("pid"), text("shape"), count("count")};
constexpr std::array kEnd = {text("detail"), count("item_limit"), count("processes_read"),
                             count("processes_inconsistent"), count("processes_sensitive")};

/// Those of a process, and what tables call it (shown_name()).
std::vector<Column> with_display_name(std::span<const Column> columns) {
    auto with_name = exported_columns(columns);
    with_name.push_back(text("display_name"));
    return with_name;
}

/// Columns without the texts of terms' values: an export has none.
std::vector<Column> without_values(std::span<const Column> columns) {
    auto kept = exported_columns(columns);
    std::erase_if(kept, [](const Column& column) { return column.name == "value"; });
    return kept;
}

/// Columns of a list of which one has a name that says something else in lines.
std::vector<Column> renamed(std::span<const Column> columns, std::string_view from,
                            std::string_view to) {
    auto renamed = exported_columns(columns);
    std::ranges::find(renamed, from, &Column::name)->name = to;
    return renamed;
}

}  // namespace

#define BEAMDUMP_KIND(function, name, table, columns)       \
    const ThingKind& function() {                           \
        static const ThingKind kKind{name, table, columns}; \
        return kKind;                                       \
    }
BEAMDUMP_KIND(dump_kind, "dump", "dumps", kDump)
BEAMDUMP_KIND(finding_kind, "finding", "findings", kFinding)
BEAMDUMP_KIND(finding_left_out_kind, "finding_left_out", "findings_left_out", kFindingLeftOut)
BEAMDUMP_KIND(memory_kind, "memory", "memory", kMemoryCategory)
BEAMDUMP_KIND(resident_kind, "resident", "resident", kResident)
BEAMDUMP_KIND(group_kind, "group", "groups", kGroup)
BEAMDUMP_KIND(parent_kind, "parent", "parents", kParent)
BEAMDUMP_KIND(wait_kind, "wait", "waits", kWait)
BEAMDUMP_KIND(link_kind, "link", "links", kLink)
BEAMDUMP_KIND(monitor_kind, "monitor", "monitors", kMonitor)
BEAMDUMP_KIND(frame_kind, "frame", "frames", kFrame)
BEAMDUMP_KIND(message_shape_kind, "message_shape", "message_shapes", kMessageShape)
BEAMDUMP_KIND(end_kind, "end", "exports", kEnd)
#undef BEAMDUMP_KIND

// Kinds of lists, whose columns are declared with what they list.
#define BEAMDUMP_LISTED_KIND(function, name, table, columns) \
    const ThingKind& function() {                            \
        static const std::vector<Column> kColumns = columns; \
        static const ThingKind kKind{name, table, kColumns}; \
        return kKind;                                        \
    }
BEAMDUMP_LISTED_KIND(process_kind, "process", "processes", with_display_name(process_columns()))
BEAMDUMP_LISTED_KIND(binary_kind, "binary", "binaries", exported_columns(node_binary_columns()))
BEAMDUMP_LISTED_KIND(allocator_kind, "allocator", "allocators",
                     exported_columns(allocator_columns()))
BEAMDUMP_LISTED_KIND(module_kind, "module", "modules", exported_columns(module_columns()))
BEAMDUMP_LISTED_KIND(ets_table_kind, "ets_table", "ets_tables", exported_columns(ets_columns()))
BEAMDUMP_LISTED_KIND(port_kind, "port", "ports", exported_columns(port_columns()))
BEAMDUMP_LISTED_KIND(socket_kind, "socket", "sockets", exported_columns(socket_columns()))
BEAMDUMP_LISTED_KIND(timer_kind, "timer", "timers", renamed(timer_columns(), "kind", "timer_kind"))
BEAMDUMP_LISTED_KIND(scheduler_kind, "scheduler", "schedulers",
                     renamed(scheduler_columns(), "kind", "scheduler_kind"))
BEAMDUMP_LISTED_KIND(node_kind, "node", "nodes",
                     renamed(renamed(node_columns(), "node", "other_node"), "processes",
                             "suspended_processes"))
BEAMDUMP_LISTED_KIND(persistent_term_kind, "persistent_term", "persistent_terms",
                     without_values(persistent_term_columns()))
BEAMDUMP_LISTED_KIND(atom_group_kind, "atom_group", "atom_groups",
                     renamed(atom_columns(AtomRows::kGroups), "atoms", "pattern"))
BEAMDUMP_LISTED_KIND(atom_kind, "atom", "atoms",
                     renamed(atom_columns(AtomRows::kEach), "index", "number"))
#undef BEAMDUMP_LISTED_KIND

std::span<const ThingKind* const> thing_kinds() {
    static const std::array kKinds = {
        &dump_kind(),      &finding_kind(),    &finding_left_out_kind(),
        &memory_kind(),    &resident_kind(),   &allocator_kind(),
        &group_kind(),     &atom_group_kind(), &module_kind(),
        &port_kind(),      &socket_kind(),     &timer_kind(),
        &scheduler_kind(), &node_kind(),       &persistent_term_kind(),
        &ets_table_kind(), &process_kind(),    &binary_kind(),
        &parent_kind(),    &wait_kind(),       &link_kind(),
        &monitor_kind(),   &frame_kind(),      &message_shape_kind(),
        &atom_kind(),      &end_kind()};
    return kKinds;
}

}  // namespace beamdump::query
