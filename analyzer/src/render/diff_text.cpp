#include "render/diff.h"
#include "render/process_table.h"
#include "render/table.h"
#include "render/units.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace beamdump::render {

namespace {

std::string dump_text(const query::DumpFacts& facts) {
    std::string text = fmt::format("{}, {}", facts.file, facts.node_name.value_or("unknown node"));
    if (facts.captured_us) {
        text += fmt::format(", {}", time_text(*facts.captured_us));
    }
    if (facts.damage) {
        text += "; INCOMPLETE: " + *facts.damage;
    }
    return one_line(text);
}

std::string change_cell(const query::Change& change) {
    if (!change.before || !change.after) {
        return "";
    }
    const auto grown =
        static_cast<std::int64_t>(*change.after) - static_cast<std::int64_t>(*change.before);
    return change.bytes ? byte_change_text(grown) : count_change_text(grown);
}

void print_totals(Output& output, const query::DumpDiff& diff) {
    const auto cell = [](const query::Change& change, const std::optional<std::uint64_t>& value) {
        if (!value) {
            return std::string("?");
        }
        return change.bytes ? bytes_text(*value) : count_text(*value);
    };
    Table table({{"TOTAL"},
                 {"BEFORE", Align::kRight},
                 {"AFTER", Align::kRight},
                 {"CHANGE", Align::kRight}});
    for (const query::Change& change : diff.totals) {
        if (change.before || change.after) {
            table.add({change.name, cell(change, change.before), cell(change, change.after),
                       change_cell(change)});
        }
    }
    output.write("\n");
    table.print(output);
}

void print_group(Output& output, std::string_view title, const query::ProcessGroup& group) {
    output.print("\n{}: {} processes, {}\n", title, count_text(group.count),
                 bytes_text(group.memory_bytes));
    if (!group.largest.empty()) {
        print_process_table(output, group.largest, "  ");
    }
}

void print_grown(Output& output, std::string_view title,
                 const std::vector<query::GrownProcess>& grown) {
    if (grown.empty()) {
        return;
    }
    Table table({{"PID"},
                 {"NAME OR INITIAL CALL"},
                 {"MEMORY", Align::kRight},
                 {"CHANGE", Align::kRight},
                 {"MESSAGES", Align::kRight},
                 {"CHANGE", Align::kRight},
                 {"REDUCTIONS", Align::kRight}});
    for (const query::GrownProcess& process : grown) {
        table.add({process.after.pid, process_name(process.after),
                   bytes_text(process.after.memory_bytes.value_or(0)),
                   byte_change_text(process.memory_growth_bytes),
                   count_text(process.after.message_queue_length.value_or(0)),
                   count_change_text(process.queue_growth), count_change_text(process.reductions)});
    }
    output.print("\n{}\n", title);
    table.print(output, "  ");
}

}  // namespace

void diff_text(Output& output, const query::DumpDiff& diff) {
    output.print("before  {}\n", dump_text(diff.before));
    output.print("after   {}", dump_text(diff.after));
    if (diff.elapsed_us) {
        output.print(" ({} {})", duration_text(std::abs(*diff.elapsed_us) * 1000),
                     *diff.elapsed_us < 0 ? "EARLIER" : "later");
    }
    output.write("\n");
    if (!diff.same_run) {
        output.write(
            "The dumps are of different runs or nodes: no process of one is in the other.\n");
    }
    print_totals(output, diff);
    print_group(output, "Born", diff.born);
    print_group(output, "Gone", diff.gone);
    output.print("\nIn both: {} processes; {} grew, {} shrank in memory\n", count_text(diff.common),
                 count_text(diff.grown_count), count_text(diff.shrunk_count));
    print_grown(output, "Most memory gained", diff.grown);
    print_grown(output, "Most messages gained", diff.grown_queues);
}

}  // namespace beamdump::render
