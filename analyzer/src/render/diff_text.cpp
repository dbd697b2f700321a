#include "render/diff.h"
#include "render/process_table.h"
#include "render/shared/layout.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace beamdump::render {

namespace {

/// Marks for values of either dump, and for values computed from both.
struct DiffMarks {
    Marks before;
    Marks after;
    [[nodiscard]] std::string both(std::string_view value, const std::string& text) const {
        std::string marked = before(value, text);
        return marked == text ? after(value, text) : marked;
    }
};

std::string dump_text(const query::DumpFacts& facts, const Marks& marks) {
    std::string text = fmt::format(
        "{}, {}", facts.file, facts.node_name ? marks("node", *facts.node_name) : "unknown node");
    if (facts.captured_us) {
        text += fmt::format(", {}", time_text(*facts.captured_us));
    }
    if (facts.damage) {
        text += "; INCOMPLETE: " + *facts.damage;
    }
    return one_line(text);
}

std::string change_cell(const query::Change& change) {
    if (!change.before || !change.after || !change.comparable) {
        return "";
    }
    const auto grown =
        static_cast<std::int64_t>(*change.after) - static_cast<std::int64_t>(*change.before);
    return change.bytes ? byte_change_text(grown) : count_change_text(grown);
}

void print_totals(Output& output, const query::DumpDiff& diff, const DiffMarks& marks) {
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
            const std::string name = "diff.totals." + change.name;
            table.add({change.name, marks.before(name, cell(change, change.before)),
                       marks.after(name, cell(change, change.after)),
                       marks.both(name, change_cell(change))});
        }
    }
    output.write("\n");
    table.print(output);
    const auto names = query::not_comparable(diff);
    if (!names.empty()) {
        output.print("not comparable, as a crash dump counts other things than a capture: {}\n",
                     fmt::join(names, ", "));
    }
}

void print_group(Output& output, std::string_view title, const query::ProcessGroup& group,
                 const Marks& marks) {
    output.print("\n{}: {} processes, {}\n", title, count_text(group.count),
                 marks("memory", bytes_text(group.memory_bytes)));
    if (!group.largest.empty()) {
        print_process_table(output, group.largest, marks, "  ");
    }
}

void print_grown(Output& output, std::string_view title,
                 const std::vector<query::GrownProcess>& grown, const DiffMarks& marks) {
    if (grown.empty()) {
        return;
    }
    Table table({{"PID"},
                 {"NAME OR INITIAL CALL", Align::kLeft, true},
                 {"MEMORY", Align::kRight},
                 {"CHANGE", Align::kRight},
                 {"MESSAGES", Align::kRight},
                 {"CHANGE", Align::kRight},
                 {"REDUCTIONS", Align::kRight}});
    for (const query::GrownProcess& process : grown) {
        table.add({marks.after("pid", process.after.pid), process_name(process.after, marks.after),
                   marks.after("memory", bytes_text(process.after.memory_bytes.value_or(0))),
                   marks.both("memory_change", byte_change_text(process.memory_growth_bytes)),
                   marks.after("message_queue_len",
                               count_text(process.after.message_queue_length.value_or(0))),
                   marks.both("message_queue_len_change", count_change_text(process.queue_growth)),
                   marks.both("reductions_change", count_change_text(process.reductions))});
    }
    output.print("\n{}\n", title);
    table.print(output, "  ");
}

}  // namespace

void diff_text(Output& output, const query::DumpDiff& diff) {
    const DiffMarks marks{Marks(diff.before.layout), Marks(diff.after.layout)};
    print_layout_notice(output, diff.before.layout, {}, "Layout of the dump before");
    print_layout_notice(output, diff.after.layout, {}, "Layout of the dump after");
    output.print("before  {}\n", dump_text(diff.before, marks.before));
    output.print("after   {}", dump_text(diff.after, marks.after));
    if (diff.elapsed_us) {
        output.print(" ({} {})", duration_text(std::abs(*diff.elapsed_us) * 1000),
                     *diff.elapsed_us < 0 ? "EARLIER" : "later");
    }
    output.write("\n");
    print_memory_notice(output, diff.before, "before: ");
    print_memory_notice(output, diff.after, "after: ");
    if (!diff.same_run) {
        output.write("The dumps are of different nodes or runs: they have no process in common.\n");
    }
    print_totals(output, diff, marks);
    print_group(output, "Born", diff.born, marks.after);
    print_group(output, "Gone", diff.gone, marks.before);
    output.print("\nIn both: {} processes; {} grew, {} shrank in memory\n", count_text(diff.common),
                 marks.both("memory_change", count_text(diff.grown_count)),
                 marks.both("memory_change", count_text(diff.shrunk_count)));
    print_grown(output, "Most memory gained", diff.grown, marks);
    print_grown(output, "Most messages gained", diff.grown_queues, marks);
}

}  // namespace beamdump::render
