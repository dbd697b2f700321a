#include "render/groups/process_tree.h"

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

std::string tree_cell(const query::TreeLine& line, const Marks& marks) {
    std::string text(2 * line.depth, ' ');
    if (!line.process) {
        return text +
               fmt::format("({} not shown)", counted(line.sums.processes, "process", "processes"));
    }
    return text + fmt::format("{} {}", marks("pid", line.process->pid),
                              process_name(*line.process, marks));
}

}  // namespace

void process_tree_text(Output& output, const query::ProcessTree& answer) {
    print_layout_notice(output, answer.dump.layout);
    print_memory_notice(output, answer.dump);
    const Marks marks(answer.dump.layout);
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
                   marks("memory", sums.memory_bytes ? bytes_text(*sums.memory_bytes) : "?"),
                   marks("message_queue_len", sums.messages ? count_text(*sums.messages) : "?"),
                   tree_cell(line, marks)});
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

}  // namespace beamdump::render
