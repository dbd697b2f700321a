#include "render/groups/waits.h"

#include "render/process_table.h"
#include "render/shared/json.h"
#include "render/shared/known.h"
#include "render/shared/layout.h"
#include "render/shared/process_counts.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

namespace beamdump::render {

namespace {

void print_cycles(Output& output, const query::Waits& answer, const Marks& marks) {
    if (answer.cycle_count == 0) {
        return;
    }
    output.print("\n{} of processes that wait for each other\n",
                 counted(answer.cycle_count, "cycle"));
    for (const auto& cycle : answer.cycles) {
        std::string text;
        for (const auto& line : cycle.processes) {
            text += fmt::format("{} {} -> ", marks("pid", line.pid), process_name(line, marks));
        }
        print_line(output, "  " + text + marks("pid", cycle.processes.front().pid));
    }
    if (answer.cycles.size() < answer.cycle_count) {
        output.print("  {}; --limit 0 shows all\n",
                     counted(answer.cycle_count - answer.cycles.size(), "more cycle"));
    }
}

}  // namespace

void waits_text(Output& output, const query::Waits& answer) {
    print_layout_notice(output, answer.dump.layout);
    const Marks marks(answer.dump.layout);
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
        table.add(
            {marks("monitors", one_line(line.name)),
             process ? process_name(*process, marks) : "(not in the dump)", count_text(line.direct),
             count_text(line.behind), process ? marks("status", process->status.value_or("?")) : "",
             process ? marks("current_function", one_line(process->current_function.value_or("?")))
                     : "",
             one_line(line.waits_for.value_or("")) + (line.in_cycle ? " (cycle)" : "")});
    }
    table.print(output);
    print_rest(output, answer.waited_for.size(), answer.targets);
    print_cycles(output, answer, marks);
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
