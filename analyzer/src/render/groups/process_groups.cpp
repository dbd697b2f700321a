#include "render/groups/process_groups.h"

#include "render/process_table.h"
#include "render/shared/json.h"
#include "render/shared/known.h"
#include "render/shared/layout.h"
#include "render/shared/process_counts.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace beamdump::render {

namespace {

std::string title_of(query::GroupBy by) {
    std::string title(query::group_by_text(by));
    std::ranges::transform(title, title.begin(), [](unsigned char c) {
        return c == '_' ? ' ' : static_cast<char>(std::toupper(c));
    });
    return title;
}

std::string largest_cell(const query::ProcessLine& line, const Marks& marks) {
    return fmt::format(
        "{} {}{}", marks("pid", line.pid), process_name(line, marks),
        line.memory_bytes ? " " + marks("memory", bytes_text(*line.memory_bytes)) : std::string());
}

/// What the layout may leave open of a group's name.
std::string_view value_of(query::GroupBy by) {
    switch (by) {
        case query::GroupBy::kInitialCall:
        case query::GroupBy::kCurrentFunction:
        case query::GroupBy::kStatus:
        case query::GroupBy::kLabel:
            return query::group_by_text(by);
        case query::GroupBy::kApplication:
            return "group_leader";
        default:
            return "dictionary";
    }
}

}  // namespace

void process_groups_text(Output& output, const query::ProcessGroups& answer) {
    print_layout_notice(output, answer.dump.layout);
    print_memory_notice(output, answer.dump);
    const Marks marks(answer.dump.layout);
    if (answer.matching == 0) {
        print_none(output, answer.dump, answer.total, "processes");
        return;
    }
    Table table({{title_of(answer.by), Align::kLeft, true},
                 {"COUNT", Align::kRight},
                 {"MEMORY", Align::kRight},
                 {"REDUCTIONS", Align::kRight},
                 {"MESSAGES", Align::kRight},
                 {"LARGEST", Align::kLeft, true}});
    const auto number = [](const std::optional<std::uint64_t>& value) {
        return value ? count_text(*value) : std::string("?");
    };
    for (const auto& group : answer.groups) {
        table.add({group.name ? marks(value_of(answer.by), one_line(*group.name)) : "-",
                   count_text(group.count),
                   marks("memory", group.memory_bytes ? bytes_text(*group.memory_bytes) : "?"),
                   marks("reductions", number(group.reductions)),
                   marks("message_queue_len", number(group.messages)),
                   largest_cell(group.largest, marks)});
    }
    table.print(output);
    if (const auto shown = answer.groups.size(); shown < answer.group_count) {
        output.print("{}; --limit 0 shows all\n",
                     counted(answer.group_count - shown, "more group"));
    }
}

void process_groups_json(Output& output, const query::ProcessGroups& answer) {
    JsonWriter json(output, "beamdump.processes/1");
    write_dump(json, "dump", answer.dump);
    write_totals(json, answer.dump, answer.total, answer.matching);
    json.member("group_by", query::group_by_text(answer.by));
    if (query::known_total(answer.dump, answer.total)) {
        json.member("group_count", answer.group_count);
    }
    if (answer.read) {
        json.begin_object("processes_read");
        write_processes_read_members(json, *answer.read);
        json.end_object();
    }
    write_objects(json, "groups", answer.groups, [&json](const query::GroupLine& group) {
        json.member("name", group.name);
        json.member("count", group.count);
        json.member("memory", group.memory_bytes);
        json.member("reductions", group.reductions);
        json.member("message_queue_len", group.messages);
        json.begin_object("largest");
        write_process_members(json, group.largest);
        json.end_object();
    });
    json.finish();
}

}  // namespace beamdump::render
