#include "query/things/thing_kinds.h"

#include "query/activity/ports.h"
#include "query/activity/schedulers.h"
#include "query/activity/sockets.h"
#include "query/activity/timers.h"
#include "query/holders/binaries.h"
#include "query/memory/allocators.h"
#include "query/process/process_line.h"
#include "query/tables/ets_tables.h"
#include "query/tables/modules.h"

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
constexpr std::array kMemory = {text("category"), count("bytes")};
constexpr std::array kResident = {text("name"), count("bytes"), count("blocks")};
constexpr std::array kGroup = {text("group_by"), text("name"),        count("count"),
                               count("memory"),  count("reductions"), count("message_queue_len"),
                               text("largest")};
constexpr std::array kAtomGroup = {text("pattern"), count("count"), count("bytes"), text("newest"),
                                   count("newest_index")};
constexpr std::array kParent = {text("pid"), text("parent")};
constexpr std::array kWait = {text("pid"), text("waits_for")};
constexpr std::array kLink = {text("pid"), text("other_kind"), text("other"), flag("unlinking")};
constexpr std::array kMonitor = {text("pid"), text("other_kind"), text("other"), text("reference")};
constexpr std::array kFrame = {text("pid"),  count("frame"), text("function"),
                               text("file"), count("line"),  flag("more")};
constexpr std::array kMessageShape = {text("pid"), text("shape"), count("count")};
constexpr std::array kAtom = {count("number"), text("text"), count("bytes")};
constexpr std::array kEnd = {text("detail"), count("item_limit"), count("processes_read"),
                             count("processes_inconsistent"), count("processes_sensitive")};

/// Columns of a list in which `kind` says something else than in lines.
std::vector<Column> with_kind_as(std::span<const Column> columns, std::string_view name) {
    auto renamed = exported_columns(columns);
    std::ranges::find(renamed, "kind", &Column::name)->name = name;
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
BEAMDUMP_KIND(memory_kind, "memory", "memory", kMemory)
BEAMDUMP_KIND(resident_kind, "resident", "resident", kResident)
BEAMDUMP_KIND(group_kind, "group", "groups", kGroup)
BEAMDUMP_KIND(atom_group_kind, "atom_group", "atom_groups", kAtomGroup)
BEAMDUMP_KIND(parent_kind, "parent", "parents", kParent)
BEAMDUMP_KIND(wait_kind, "wait", "waits", kWait)
BEAMDUMP_KIND(link_kind, "link", "links", kLink)
BEAMDUMP_KIND(monitor_kind, "monitor", "monitors", kMonitor)
BEAMDUMP_KIND(frame_kind, "frame", "frames", kFrame)
BEAMDUMP_KIND(message_shape_kind, "message_shape", "message_shapes", kMessageShape)
BEAMDUMP_KIND(atom_kind, "atom", "atoms", kAtom)
BEAMDUMP_KIND(end_kind, "end", "exports", kEnd)
#undef BEAMDUMP_KIND

const ThingKind& process_kind() {
    static const auto kColumns = exported_columns(process_columns());
    static const ThingKind kKind{"process", "processes", kColumns};
    return kKind;
}

const ThingKind& binary_kind() {
    static const auto kColumns = exported_columns(binary_columns());
    static const ThingKind kKind{"binary", "binaries", kColumns};
    return kKind;
}

const ThingKind& allocator_kind() {
    static const auto kColumns = exported_columns(allocator_columns());
    static const ThingKind kKind{"allocator", "allocators", kColumns};
    return kKind;
}

const ThingKind& module_kind() {
    static const auto kColumns = exported_columns(module_columns());
    static const ThingKind kKind{"module", "modules", kColumns};
    return kKind;
}

const ThingKind& ets_table_kind() {
    static const auto kColumns = exported_columns(ets_columns());
    static const ThingKind kKind{"ets_table", "ets_tables", kColumns};
    return kKind;
}

const ThingKind& port_kind() {
    static const auto kColumns = exported_columns(port_columns());
    static const ThingKind kKind{"port", "ports", kColumns};
    return kKind;
}

const ThingKind& socket_kind() {
    static const auto kColumns = exported_columns(socket_columns());
    static const ThingKind kKind{"socket", "sockets", kColumns};
    return kKind;
}

const ThingKind& timer_kind() {
    static const auto kColumns = with_kind_as(timer_columns(), "timer_kind");
    static const ThingKind kKind{"timer", "timers", kColumns};
    return kKind;
}

const ThingKind& scheduler_kind() {
    static const auto kColumns = with_kind_as(scheduler_columns(), "scheduler_kind");
    static const ThingKind kKind{"scheduler", "schedulers", kColumns};
    return kKind;
}

std::span<const ThingKind* const> thing_kinds() {
    static const std::array kKinds = {
        &dump_kind(),          &finding_kind(),    &finding_left_out_kind(),
        &memory_kind(),        &resident_kind(),   &allocator_kind(),
        &group_kind(),         &atom_group_kind(), &module_kind(),
        &port_kind(),          &socket_kind(),     &timer_kind(),
        &scheduler_kind(),     &ets_table_kind(),  &process_kind(),
        &binary_kind(),        &parent_kind(),     &wait_kind(),
        &link_kind(),          &monitor_kind(),    &frame_kind(),
        &message_shape_kind(), &atom_kind(),       &end_kind()};
    return kKinds;
}

}  // namespace beamdump::query
