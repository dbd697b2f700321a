#include "render/tables/modules.h"

#include "query/rows/cells.h"
#include "render/shared/json.h"
#include "render/shared/known.h"
#include "render/shared/layout.h"
#include "render/shared/process_counts.h"
#include "render/shared/row_list.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace beamdump::render {

namespace {

constexpr RowListTexts kModuleTexts = {
    .schema = "beamdump.modules/1", .member = "modules", .things = "modules", .section = "mod"};

void print_users(Output& output, const query::ModuleList& answer) {
    for (const auto& line : answer.used) {
        if (*line.user_count == 0) {
            output.print("no process has old code of {} on its stack\n", one_line(line.name));
            continue;
        }
        const bool more = *line.user_count > line.users.size();
        print_line(output,
                   fmt::format("old code of {} is on the stack of {}: {}{}", one_line(line.name),
                               counted(*line.user_count, "process", "processes"),
                               fmt::join(line.users, " "), more ? " ..." : ""));
    }
}

}  // namespace

void modules_text(Output& output, query::ModuleList& answer, const query::DumpFacts& facts) {
    RowListExtras extras;
    extras.text_before = [&](Output& out) {
        const auto& list = answer.list;
        std::string head(at_least(facts, "mod"));
        head += counted(list.total(), "module instance");
        if (list.matching() != list.total()) {
            head += fmt::format(", {} selected", count_text(list.matching()));
        }
        head += fmt::format(", {} old", count_text(answer.old));
        if (const auto code = list.sum_of_matching("code_bytes")) {
            head += fmt::format("; code {}", bytes_text(*code));
        }
        if (const auto literals = list.sum_of_matching("literal_bytes")) {
            head += fmt::format(", literals {}", bytes_text(*literals));
        }
        out.print("{}\n\n", head);
    };
    extras.text_after = [&](Output& out) {
        if (answer.read && answer.list.matching() != 0) {
            out.write("\n");
            print_users(out, answer);
        }
    };
    rows_text(output, answer.list, facts, kModuleTexts, extras);
}

void modules_json(Output& output, query::ModuleList& answer, const query::DumpFacts& facts) {
    RowListExtras extras;
    extras.json_before = [&](JsonWriter& json) {
        json.member("old", answer.old);
        json.member("code_bytes", answer.list.sum_of_matching("code_bytes"));
        json.member("literal_bytes", answer.list.sum_of_matching("literal_bytes"));
        if (answer.read) {
            write_processes_read(json, *answer.read);
        }
    };
    const auto start_at = query::column_place(query::module_columns(), "code_start");
    const auto instance_at = query::column_place(query::module_columns(), "instance");
    extras.json_row = [&, start_at, instance_at](JsonWriter& json, const query::Row& row) {
        const auto used = std::ranges::find_if(answer.used, [&](const query::ModuleLine& line) {
            return query::cell(line.code_start) == row[start_at] &&
                   query::cell(line.instance) == row[instance_at];
        });
        if (used == answer.used.end()) {
            return;
        }
        json.member("user_count", used->user_count);
        json.begin_array("users");
        for (const auto& pid : used->users) {
            json.value(pid);
        }
        json.end_array();
    };
    rows_json(output, answer.list, facts, kModuleTexts, extras);
}

}  // namespace beamdump::render
