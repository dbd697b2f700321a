#include "render/process_table.h"

#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

namespace beamdump::render {

namespace {

constexpr std::string_view kAbsentCell = "?";

std::string number_cell(const std::optional<std::uint64_t>& number) {
    return number ? count_text(*number) : std::string(kAbsentCell);
}

std::string status_cell(const query::ProcessLine& line) {
    std::string text = line.status.value_or(std::string(kAbsentCell));
    if (line.void_reason) {
        text += " (void)";
    }
    return text;
}

}  // namespace

std::string process_name(const query::ProcessLine& line, const Marks& marks) {
    if (line.registered_name) {
        return marks("registered_name", one_line(*line.registered_name));
    }
    if (line.translated_initial_call) {
        return marks("translated_initial_call", one_line(*line.translated_initial_call));
    }
    return marks("initial_call", one_line(line.initial_call.value_or(std::string(kAbsentCell))));
}

void print_memory_notice(Output& output, const query::DumpFacts& facts, std::string_view which) {
    if (facts.memory_of_heaps) {
        output.print(
            "{}memory of processes: stack, heap and old heap only; the crash dump has no more\n",
            which);
    }
}

void print_process_table(Output& output, std::span<const query::ProcessLine> lines,
                         const Marks& marks, std::string_view indent) {
    Table table({{"PID"},
                 {"NAME OR INITIAL CALL", Align::kLeft, true},
                 {"MEMORY", Align::kRight},
                 {"REDUCTIONS", Align::kRight},
                 {"MESSAGES", Align::kRight},
                 {"STATUS"},
                 {"CURRENT FUNCTION", Align::kLeft, true}});
    for (const query::ProcessLine& line : lines) {
        table.add({marks("pid", line.pid), process_name(line, marks),
                   marks("memory", line.memory_bytes ? bytes_text(*line.memory_bytes)
                                                     : std::string(kAbsentCell)),
                   marks("reductions", number_cell(line.reductions)),
                   marks("message_queue_len", number_cell(line.message_queue_length)),
                   marks({"status", "void_reason"}, status_cell(line)),
                   marks("current_function",
                         one_line(line.current_function.value_or(std::string(kAbsentCell))))});
    }
    table.print(output, indent);
}

}  // namespace beamdump::render
