#include "render/groups.h"

#include "render/processes.h"
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

std::string largest_cell(const query::ProcessLine& line) {
    return fmt::format("{} {}{}", line.pid, process_name(line),
                       line.memory_bytes ? " " + bytes_text(*line.memory_bytes) : std::string());
}

}  // namespace

void process_groups_text(Output& output, const query::ProcessGroups& answer) {
    print_layout_notice(output, answer.dump.layout);
    print_memory_notice(output, answer.dump);
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
        table.add({group.name ? one_line(answer.dump.names.shown(*group.name)) : "-",
                   count_text(group.count),
                   group.memory_bytes ? bytes_text(*group.memory_bytes) : "?",
                   number(group.reductions), number(group.messages), largest_cell(group.largest)});
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

namespace {

std::string tree_cell(const query::TreeLine& line) {
    std::string text(2 * line.depth, ' ');
    if (!line.process) {
        return text +
               fmt::format("({} not shown)", counted(line.sums.processes, "process", "processes"));
    }
    return text + fmt::format("{} {}", line.process->pid, process_name(*line.process));
}

}  // namespace

void process_tree_text(Output& output, const query::ProcessTree& answer) {
    print_layout_notice(output, answer.dump.layout);
    print_memory_notice(output, answer.dump);
    if (!query::known_total(answer.dump, answer.total)) {
        print_none(output, answer.dump, answer.total, "processes");
        return;
    }
    output.print("{}{}, {}; memory and messages are sums over a process and all below it\n\n",
                 at_least(answer.dump, "proc"), counted(answer.total, "process", "processes"),
                 counted(answer.roots, "root"));
    Table table({{"PROCESSES", Align::kRight},
                 {"MEMORY", Align::kRight},
                 {"MESSAGES", Align::kRight},
                 {answer.links ? "TREE, BY LINKS" : "TREE", Align::kLeft, true}});
    for (const auto& line : answer.lines) {
        const auto& sums = line.sums;
        table.add({count_text(sums.processes),
                   sums.memory_bytes ? bytes_text(*sums.memory_bytes) : "?",
                   sums.messages ? count_text(*sums.messages) : "?", tree_cell(line)});
    }
    table.print(output);
}

void process_tree_json(Output& output, const query::ProcessTree& answer) {
    JsonWriter json(output, "beamdump.tree/1");
    write_dump(json, "dump", answer.dump);
    json.member("by", answer.links ? "links" : "parents");
    if (const auto total = query::known_total(answer.dump, answer.total)) {
        json.member("total", *total);
        json.member("roots", answer.roots);
    }
    write_processes_read(json, answer.read);
    write_objects(json, "lines", answer.lines, [&json](const query::TreeLine& line) {
        json.member("depth", line.depth);
        if (line.process) {
            json.begin_object("process");
            write_process_members(json, *line.process);
            json.end_object();
        }
        json.member("subtree_processes", line.sums.processes);
        json.member("subtree_memory", line.sums.memory_bytes);
        json.member("subtree_message_queue_len", line.sums.messages);
    });
    json.finish();
}

namespace {

void print_cycles(Output& output, const query::Waits& answer) {
    if (answer.cycle_count == 0) {
        return;
    }
    output.print("\n{} of processes that wait for each other\n",
                 counted(answer.cycle_count, "cycle"));
    for (const auto& cycle : answer.cycles) {
        std::string text;
        for (const auto& line : cycle.processes) {
            text += fmt::format("{} {} -> ", line.pid, process_name(line));
        }
        print_line(output, "  " + text + cycle.processes.front().pid);
    }
    if (answer.cycles.size() < answer.cycle_count) {
        output.print("  {}; --limit 0 shows all\n",
                     counted(answer.cycle_count - answer.cycles.size(), "more cycle"));
    }
}

}  // namespace

void waits_text(Output& output, const query::Waits& answer) {
    print_layout_notice(output, answer.dump.layout);
    if (!query::known_total(answer.dump, answer.read.read)) {
        print_none(output, answer.dump, answer.read.read, "stacks");
        return;
    }
    output.print("{}{} for an answer of {}\n", at_least(answer.dump, "proc_stack"),
                 counted(answer.waiting, "process waits", "processes wait"),
                 counted(answer.targets, "process", "processes"));
    if (answer.waited_for.empty()) {
        return;
    }
    output.write("\n");
    Table table({{"WAITED FOR"},
                 {"NAME OR INITIAL CALL", Align::kLeft, true},
                 {"WAITING", Align::kRight},
                 {"BEHIND", Align::kRight},
                 {"STATUS"},
                 {"CURRENT FUNCTION", Align::kLeft, true},
                 {"WAITS FOR"}});
    for (const auto& line : answer.waited_for) {
        const auto& process = line.process;
        table.add({one_line(line.name), process ? process_name(*process) : "(not in the dump)",
                   count_text(line.direct), count_text(line.behind),
                   process ? process->status.value_or("?") : "",
                   process ? one_line(query::shown_function(*process).value_or("?")) : "",
                   one_line(line.waits_for.value_or("")) + (line.in_cycle ? " (cycle)" : "")});
    }
    table.print(output);
    print_rest(output, answer.waited_for.size(), answer.targets);
    print_cycles(output, answer);
}

void waits_json(Output& output, const query::Waits& answer) {
    JsonWriter json(output, "beamdump.waits/1");
    write_dump(json, "dump", answer.dump);
    const bool known = query::known_total(answer.dump, answer.read.read).has_value();
    if (known) {
        json.member("waiting", answer.waiting);
        json.member("targets", answer.targets);
    }
    write_processes_read(json, answer.read);
    write_objects(json, "waited_for", answer.waited_for, [&json](const query::WaitedFor& line) {
        json.member("name", line.name);
        if (line.process) {
            json.begin_object("process");
            write_process_members(json, *line.process);
            json.end_object();
        }
        json.member("direct", line.direct);
        json.member("behind", line.behind);
        json.member("waits_for", line.waits_for);
        json.member("in_cycle", line.in_cycle);
    });
    if (known) {
        json.member("cycle_count", answer.cycle_count);
    }
    json.begin_array("cycles");
    for (const auto& cycle : answer.cycles) {
        json.begin_object();
        write_objects(json, "processes", cycle.processes, [&json](const query::ProcessLine& line) {
            write_process_members(json, line);
        });
        json.end_object();
    }
    json.end_array();
    json.finish();
}

}  // namespace beamdump::render
