#include "render/tables/atoms.h"

#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

namespace beamdump::render {

namespace {

std::string share_text(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? "-"
                      : fmt::format("{:.1f}%",
                                    100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void print_count(Output& output, const query::AtomReport& report) {
    std::string line = report.count ? fmt::format("{} atoms", count_text(*report.count))
                                    : "an unknown number of atoms";
    if (report.limit) {
        line += fmt::format(" of at most {}{}", count_text(*report.limit),
                            report.limit_is_default ? " (the default)" : "");
        line += report.count ? fmt::format(", {}", share_text(*report.count, *report.limit)) : "";
    }
    if (report.absent_because) {
        output.print("{}; their texts are unknown: {}\n", line, *report.absent_because);
        return;
    }
    if (report.count.value_or(0) != report.named) {
        line += fmt::format("; the dump has the text of {}", count_text(report.named));
    }
    line += fmt::format("; {} of text", bytes_text(report.text_bytes));
    output.print("{}\n", line);
    if (!report.in_order) {
        output.write("a crash dump does not tell in which order they were created\n");
    }
    output.write("\n");
}

void print_groups(Output& output, const query::AtomReport& report) {
    Table table({{"COUNT", Align::kRight},
                 {"SHARE", Align::kRight},
                 {"TEXT", Align::kRight},
                 {"ATOMS, DIGITS AS N", Align::kLeft, true},
                 {report.in_order ? "NEWEST" : "ONE OF THEM", Align::kLeft, true}});
    for (const auto& group : report.largest_groups) {
        table.add({count_text(group.count), share_text(group.count, report.named),
                   bytes_text(group.bytes), one_line(group.name), one_line(group.newest)});
    }
    table.print(output);
    if (report.ungrouped != 0) {
        output.print("{} in further groups, not told apart\n",
                     counted(report.ungrouped, "older atom"));
    }
    if (const auto shown = report.largest_groups.size(); shown < report.groups) {
        output.print("{}; --limit 0 shows all\n", counted(report.groups - shown, "more group"));
    }
}

void print_list(Output& output, const query::AtomReport& report) {
    Table table({{report.in_order ? "INDEX" : "NUMBER", Align::kRight},
                 {"TEXT", Align::kRight},
                 {"ATOM", Align::kLeft, true}});
    for (const auto& atom : report.atoms) {
        table.add({count_text(atom.index), bytes_text(atom.bytes), one_line(atom.text)});
    }
    table.print(output);
    if (const auto shown = report.atoms.size(); shown < report.matching) {
        output.print("{}; --limit 0 shows all\n", counted(report.matching - shown, "more atom"));
    }
}

}  // namespace

void atoms_text(Output& output, const query::AtomReport& report, bool list) {
    print_layout_notice(output, report.dump.layout);
    print_count(output, report);
    if (report.absent_because) {
        return;
    }
    if (report.matching == 0) {
        output.write("no atom matches\n");
    } else if (list) {
        print_list(output, report);
    } else {
        print_groups(output, report);
    }
}

void atoms_json(Output& output, const query::AtomReport& report, bool list) {
    JsonWriter json(output, "beamdump.atoms/1");
    write_dump(json, "dump", report.dump);
    json.member("count", report.count);
    json.member("limit", report.limit);
    if (report.limit) {
        json.member("limit_from", report.limit_is_default ? "default" : "command_line");
    }
    const bool known = !report.absent_because;
    if (known) {
        json.member("named", report.named);
        json.member("text_bytes", report.text_bytes);
    }
    json.member("absent_because", report.absent_because);
    json.member("in_order_of_creation", report.in_order);
    if (known) {
        json.member("matching", report.matching);
    }
    if (list) {
        write_objects(json, "atoms", report.atoms, [&json](const query::AtomLine& atom) {
            json.member("index", atom.index);
            json.member("text", atom.text);
            json.member("bytes", atom.bytes);
        });
    } else {
        if (known) {
            json.member("group_count", report.groups);
            json.member("ungrouped", report.ungrouped);
        }
        write_objects(json, "groups", report.largest_groups,
                      [&json](const query::AtomGroup& group) {
                          json.member("atoms", group.name);
                          json.member("count", group.count);
                          json.member("bytes", group.bytes);
                          json.member("newest", group.newest);
                          json.member("newest_index", group.newest_index);
                      });
    }
    json.finish();
}

}  // namespace beamdump::render
