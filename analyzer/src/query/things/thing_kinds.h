#pragma once

#include "query/rows/row_list.h"

#include <span>
#include <string_view>

namespace beamdump::query {

/// A kind of thing that an export lists. Its columns have the names and units of the JSON answers
/// of the command that shows such things (schemas/json).
struct ThingKind {
    std::string_view name;   ///< of one: "process"
    std::string_view table;  ///< of many: "processes"
    std::span<const Column> columns;
};

// The kinds, in the order in which they are exported. Cells of a row are in the columns' order.
const ThingKind& dump_kind();
const ThingKind& finding_kind();
const ThingKind& finding_left_out_kind();
const ThingKind& memory_kind();
const ThingKind& resident_kind();
const ThingKind& allocator_kind();
const ThingKind& group_kind();
const ThingKind& atom_group_kind();
const ThingKind& module_kind();
const ThingKind& port_kind();
const ThingKind& socket_kind();
const ThingKind& timer_kind();
const ThingKind& scheduler_kind();
const ThingKind& node_kind();
const ThingKind& persistent_term_kind();
const ThingKind& ets_table_kind();
const ThingKind& process_kind();
const ThingKind& binary_kind();
const ThingKind& parent_kind();
const ThingKind& wait_kind();
const ThingKind& link_kind();
const ThingKind& monitor_kind();
const ThingKind& frame_kind();
const ThingKind& message_shape_kind();
const ThingKind& atom_kind();
const ThingKind& end_kind();

/// All of them.
std::span<const ThingKind* const> thing_kinds();

}  // namespace beamdump::query
