#include "render/tables/modules.h"

#include "render/shared/json.h"
#include "render/shared/known.h"
#include "render/shared/layout.h"
#include "render/shared/process_counts.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace beamdump::render {

namespace {

/// As its directory is named: kernel-8.5.4.
std::string application_cell(const query::ModuleLine& line) {
    if (!line.application) {
        return "";
    }
    return line.application_version ? fmt::format("{}-{}", one_line(*line.application),
                                                  one_line(*line.application_version))
                                    : one_line(*line.application);
}

std::string bytes_cell(const std::optional<std::uint64_t>& bytes) {
    return bytes ? bytes_text(*bytes) : "?";
}

void print_users(Output& output, const query::ModuleReport& report) {
    for (const auto& line : report.modules) {
        if (!line.user_count) {
            continue;
        }
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

void modules_text(Output& output, const query::ModuleReport& report) {
    print_layout_notice(output, report.dump.layout);
    const Marks marks(report.dump.layout);
    std::string head(at_least(report.dump, "mod"));
    head += counted(report.total, "module instance");
    if (report.matching != report.total) {
        head += fmt::format(", {} selected", count_text(report.matching));
    }
    head += fmt::format(", {} old", count_text(report.old));
    if (report.code_bytes) {
        head += fmt::format("; code {}", marks("code_bytes", bytes_text(*report.code_bytes)));
    }
    if (report.literal_bytes) {
        head +=
            fmt::format(", literals {}", marks("literal_bytes", bytes_text(*report.literal_bytes)));
    }
    output.print("{}\n\n", head);
    if (report.matching == 0) {
        output.write("no module matches\n");
        return;
    }
    Table table({{"MODULE", Align::kLeft, true},
                 {"INSTANCE"},
                 {"CODE", Align::kRight},
                 {"LITERALS", Align::kRight},
                 {"FUNCTIONS", Align::kRight},
                 {"APPLICATION", Align::kLeft, true},
                 {"VSN", Align::kLeft, true},
                 {"MD5"}});
    for (const auto& line : report.modules) {
        table.add({one_line(line.name), line.instance.value_or("?"),
                   marks("code_bytes", bytes_cell(line.code_bytes)),
                   marks("literal_bytes", bytes_cell(line.literal_bytes)),
                   marks("functions", line.functions ? count_text(*line.functions) : "?"),
                   marks("application", application_cell(line)),
                   marks("vsn", line.version ? one_line(*line.version) : "?"),
                   marks("md5", line.md5.value_or("?"))});
    }
    table.print(output);
    print_rest(output, report.modules.size(), report.matching);
    if (report.read) {
        output.write("\n");
        print_users(output, report);
    }
}

void modules_json(Output& output, const query::ModuleReport& report) {
    JsonWriter json(output, "beamdump.modules/1");
    write_dump(json, "dump", report.dump);
    json.member("total", report.total);
    json.member("matching", report.matching);
    json.member("old", report.old);
    json.member("code_bytes", report.code_bytes);
    json.member("literal_bytes", report.literal_bytes);
    if (report.read) {
        write_processes_read(json, *report.read);
    }
    write_objects(json, "modules", report.modules, [&json](const query::ModuleLine& line) {
        json.member("name", line.name);
        json.member("instance", line.instance);
        if (line.code_start) {
            json.hex_member("code_start", *line.code_start);
        }
        json.member("code_bytes", line.code_bytes);
        json.member("literal_bytes", line.literal_bytes);
        json.member("functions", line.functions);
        json.member("md5", line.md5);
        json.member("vsn", line.version);
        json.member("application", line.application);
        json.member("application_vsn", line.application_version);
        if (line.user_count) {
            json.member("user_count", line.user_count);
            json.begin_array("users");
            for (const auto& pid : line.users) {
                json.value(pid);
            }
            json.end_array();
        }
    });
    json.finish();
}

}  // namespace beamdump::render
