#include "render/process_details.h"
#include "render/process_table.h"
#include "render/shared/table.h"
#include "render/shared/term_line.h"
#include "render/shared/units.h"
#include "render/shared/void_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace beamdump::render {

namespace {

std::string fact_text(const query::Fact& fact, std::uint64_t word_bytes) {
    if (const auto* text = std::get_if<std::string>(&fact.value)) {
        return one_line(*text);
    }
    if (const auto* flag = std::get_if<bool>(&fact.value)) {
        return *flag ? "true" : "false";
    }
    const auto number = std::get<std::uint64_t>(fact.value);
    switch (fact.unit) {
        case query::FactUnit::kBytes:
            return bytes_text(number);
        case query::FactUnit::kWords:
            return fmt::format("{} words ({})", count_text(number),
                               bytes_text(number * word_bytes));
        case query::FactUnit::kAddress:
        case query::FactUnit::kBits:
            return fmt::format("{:#x}", number);
        case query::FactUnit::kNone:
            break;
    }
    return count_text(number);
}

/// "memory" as a heading: "Memory"; "message_queue": "Message queue".
std::string heading(std::string name) {
    std::ranges::replace(name, '_', ' ');
    if (!name.empty() && name.front() >= 'a' && name.front() <= 'z') {
        name.front() = static_cast<char>(name.front() - 'a' + 'A');
    }
    return name;
}

/// A heading with the count, the rows, and the number of rows not shown.
template <typename Item, typename Row>
void print_list(Output& output, std::string_view title, const query::Excerpt<Item>& list,
                std::vector<Table::Column> columns, Row row) {
    if (list.total == 0) {
        return;
    }
    print_title(output, fmt::format("{} ({})", title, count_text(list.total)));
    Table table(std::move(columns));
    for (const Item& item : list.items) {
        if constexpr (std::is_same_v<decltype(row(item)), std::vector<Table::Cell>>) {
            table.add_cells(row(item));
        } else {
            table.add(row(item));
        }
    }
    table.print(output, "  ");
    if (list.items.size() < list.total) {
        output.print("  and {} more; --limit 0 shows all\n",
                     count_text(list.total - list.items.size()));
    }
}

/// A list that the dump does not have is not printed.
template <typename Item, typename Row>
void print_list(Output& output, std::string_view title,
                const std::optional<query::Excerpt<Item>>& list, std::vector<Table::Column> columns,
                Row row) {
    if (list) {
        print_list(output, title, *list, std::move(columns), row);
    }
}

/// The other process of a link or monitor, with what tables call it.
template <typename Line>
std::string other_process(const Line& line) {
    return one_line(line.display_name ? line.other + " " + *line.display_name : line.other);
}

void print_monitors(Output& output, std::string_view title, std::string_view name,
                    const query::Excerpt<query::MonitorLine>& list, const Marks& marks) {
    print_list(output, title, list, {{""}, {""}, {""}}, [&](const query::MonitorLine& line) {
        return std::vector{marks(name, line.kind), marks(name, other_process(line)),
                           marks({name, "reference"}, line.reference.value_or(""))};
    });
}

void print_suspending(Output& output, const query::ProcessDetails& details, const Marks& marks) {
    print_list(output, "Suspending", details.suspending, {{""}, {""}},
               [&](const query::SuspendLine& line) {
                   return std::vector{
                       marks("suspending", line.process),
                       marks("suspending", fmt::format("{} active, {} outstanding", line.active,
                                                       line.outstanding))};
               });
}

void print_stacktrace(Output& output, const query::ProcessDetails& details, const Marks& marks) {
    print_list(output, "Current stacktrace", details.stacktrace,
               {{"", Align::kLeft, true}, {"", Align::kLeft, true}},
               [&](const query::CodeLine& line) {
                   const bool known = line.file && line.line;
                   return std::vector{
                       marks({"current_stacktrace", "function"}, one_line(line.function)),
                       marks({"current_stacktrace", "file", "line"},
                             known ? one_line(fmt::format("{}:{}", *line.file, *line.line)) : "")};
               });
}

void print_binaries(Output& output, const query::ProcessDetails& details, const Marks& marks) {
    print_list(output, "Binary", details.binaries,
               {{"ADDRESS"}, {"SIZE", Align::kRight}, {"REFERENCES", Align::kRight}},
               [&](const query::ReferencedBinary& line) {
                   return std::vector{marks("binary", fmt::format("{:#x}", line.address)),
                                      marks({"binary", "size_bytes"},
                                            line.size_bytes ? bytes_text(*line.size_bytes) : "?"),
                                      marks({"binary", "references"},
                                            line.references ? count_text(*line.references) : "?")};
               });
}

void print_arguments(Output& output, const query::ProcessDetails& details, const Marks& marks) {
    print_list(output, "Saved x registers", details.arguments, {{""}, {""}},
               [&](const query::ArgumentLine& line) {
                   return std::vector<Table::Cell>{{fmt::format("x({})", line.index)},
                                                   term_cell(line.term, marks.mark({"arguments"}))};
               });
}

void print_regions(Output& output, const query::ProcessDetails& details, const Marks& marks) {
    print_list(output, "Regions", details.regions,
               {{"KIND"}, {"ADDRESS"}, {"SIZE", Align::kRight}, {"CAPTURED", Align::kRight}, {""}},
               [&](const query::RegionLine& line) {
                   return std::vector{line.kind,
                                      marks("regions", fmt::format("{:#x}", line.address)),
                                      marks("regions", bytes_text(line.total_bytes)),
                                      marks("regions", bytes_text(line.captured_bytes)),
                                      line.absent_because.value_or("")};
               });
}

void print_lists(Output& output, const query::ProcessDetails& details, const Marks& marks) {
    print_stacktrace(output, details, marks);
    print_arguments(output, details, marks);
    if (details.relations_known) {
        print_list(output, "Links", details.links, {{""}, {""}, {""}},
                   [&](const query::LinkLine& line) {
                       return std::vector<std::string>{marks("links", line.kind),
                                                       marks("links", other_process(line)),
                                                       line.unlinking ? "unlinking" : ""};
                   });
        print_monitors(output, "Monitors", "monitors", details.monitors, marks);
        print_monitors(output, "Monitored by", "monitored_by", details.monitored_by, marks);
    }
    print_suspending(output, details, marks);
    print_binaries(output, details, marks);
    print_list(output, "Dictionary", details.dictionary,
               {{"", Align::kLeft, true}, {"", Align::kLeft, true}},
               [&](const query::DictionaryLine& line) {
                   const auto mark = marks.mark({"dictionary"});
                   return std::vector{term_cell(line.key, mark), term_cell(line.value, mark)};
               });
    if (!details.withheld) {
        print_list(output, "Messages", details.messages, {{"", Align::kRight}, {""}, {""}},
                   [&](const query::MessageLine& line) {
                       return std::vector<Table::Cell>{
                           {count_text(line.index)},
                           {line.queue},
                           term_cell(line.term, marks.mark({"messages"}))};
                   });
    }
    print_regions(output, details, marks);
}

/// Values without a place for a mark: e.g. a link's unlinking state, shown only if it is set.
constexpr auto unmarked() {
    std::array<std::string_view, kPartsOfTerms.size() + 1> values{"unlinking"};
    std::ranges::copy(kPartsOfTerms, values.begin() + 1);
    return values;
}

}  // namespace

void process_details_text(Output& output, const query::ProcessDetails& details) {
    static constexpr auto kUnmarked = unmarked();
    print_layout_notice(output, details.dump.layout, kUnmarked);
    const Marks marks(details.dump.layout);
    output.print("{}  {}\n", marks("pid", details.line.pid), process_name(details.line, marks));
    if (details.line.void_reason) {
        output.print("VOID: it {}{}{}; only its structure is shown\n",
                     marks("void_reason", std::string(void_clause(*details.line.void_reason))),
                     details.void_detail ? ": " : "", one_line(details.void_detail.value_or("")));
        output.write(void_advice(details.dump, *details.line.void_reason, details.line.pid));
    }
    if (details.withheld) {
        output.write("SENSITIVE: dictionary and messages are withheld; --sensitive shows them\n");
    }
    for (const query::FactGroup& group : details.groups) {
        if (group.facts.empty()) {
            continue;
        }
        print_title(output, heading(group.name));
        Table table({{""}, {""}});
        for (const query::Fact& fact : group.facts) {
            std::string text =
                marks({fact.name, fmt::format("process.{}.{}", group.name, fact.name)},
                      fact_text(fact, details.dump.word_bytes));
            if (fact.name == "memory" && details.dump.memory_of_heaps) {
                text +=
                    " (stack, heap, old heap and heap fragments only: the crash dump has no more)";
            }
            table.add({fact.name, std::move(text)});
        }
        table.print(output, "  ");
    }
    print_lists(output, details, marks);
}

}  // namespace beamdump::render
