// Prints the JSON Schema of what the columns of lists say of themselves: for each list the
// properties of a row, and the names of those that exports have. tests/golden/check_schemas.py
// compares them with schemas/json.

#include "query/activity/emulator.h"
#include "query/activity/history.h"
#include "query/activity/nodes.h"
#include "query/activity/ports.h"
#include "query/activity/schedulers.h"
#include "query/activity/sockets.h"
#include "query/activity/timers.h"
#include "query/holders/node_binaries.h"
#include "query/holders/resource_holders.h"
#include "query/memory/allocators.h"
#include "query/memory/carriers.h"
#include "query/process/process_line.h"
#include "query/tables/atoms.h"
#include "query/tables/ets_tables.h"
#include "query/tables/modules.h"
#include "query/tables/persistent_terms.h"

#include <libdump/text/json_writer.h>

#include <fmt/format.h>

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace {

using beamdump::query::Column;
using beamdump::query::ColumnKind;

std::string quoted(std::string_view text) {
    return fmt::format("\"{}\"", beamdump::json_escaped(text));
}

std::string type_of(const Column& column) {
    if (!column.one_of.empty()) {
        std::string texts;
        for (std::string_view rest = column.one_of; !rest.empty();) {
            const auto space = rest.find(' ');
            texts += (texts.empty() ? "" : ", ") + quoted(rest.substr(0, space));
            rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
        }
        return fmt::format("\"enum\": [{}]", texts);
    }
    switch (column.kind) {
        case ColumnKind::kAddress:
            return "\"$ref\": \"urn:beamdump:common:1#/$defs/hex\"";
        case ColumnKind::kText:
        case ColumnKind::kTextOfAll:
            return "\"type\": \"string\"";
        case ColumnKind::kFlag:
            return "\"type\": \"boolean\"";
        default:
            return fmt::format("\"type\": \"integer\", \"minimum\": {}", column.minimum);
    }
}

/// What a value of --filter is.
std::string_view unit_of(ColumnKind kind) {
    if (beamdump::query::is_bytes(kind)) {
        return "bytes";
    }
    switch (kind) {
        case ColumnKind::kText:
        case ColumnKind::kTextOfAll:
            return "text";
        case ColumnKind::kTenths:
            return "percent";
        case ColumnKind::kAddress:
            return "address";
        case ColumnKind::kFlag:
            return "true, false";
        default:
            return "number";
    }
}

void print_list(std::string_view name, std::span<const Column> columns, bool last = false) {
    std::string properties;
    std::string exported;
    std::string units;
    for (const Column& column : columns) {
        if (beamdump::query::is_exported(column)) {
            exported += (exported.empty() ? "" : ", ") + quoted(column.name);
        }
        units += fmt::format("{}[{}, {}, {}]", units.empty() ? "" : ", ", quoted(column.name),
                             quoted(unit_of(column.kind)), quoted(column.also));
        if (column.in_json) {
            properties += fmt::format(
                "{}{}: {{{}{}}}", properties.empty() ? "" : ",\n  ", quoted(column.name),
                type_of(column),
                column.sentence.empty() ? "" : ", \"description\": " + quoted(column.sentence));
        }
    }
    fmt::print("{}: {{\"exported\": [{}], \"units\": [{}], \"properties\": {{\n  {}}}}}{}\n",
               quoted(name), exported, units, properties, last ? "" : ",");
}

}  // namespace

int main() {
    namespace query = beamdump::query;
    std::puts("{");
    print_list("ets", query::ets_columns());
    print_list("modules", query::module_columns());
    print_list("allocators", query::allocator_columns());
    print_list("carriers", query::carrier_columns());
    print_list("ports", query::port_columns());
    print_list("sockets", query::socket_columns());
    print_list("resources", query::resource_columns());
    print_list("resource_holders", query::resource_holder_columns());
    print_list("timers", query::timer_columns());
    print_list("schedulers", query::scheduler_columns());
    print_list("nodes", query::node_columns());
    print_list("persistent-terms", query::persistent_term_columns());
    print_list("history", query::history_columns());
    print_list("history_processes", query::history_process_columns());
    print_list("history_functions", query::history_function_columns());
    print_list("processes", query::process_columns());
    print_list("binaries", query::node_binary_columns());
    print_list("atoms", query::atom_columns(query::AtomRows::kGroups));
    print_list("each_atom", query::atom_columns(query::AtomRows::kEach), true);
    std::puts("}");
}
