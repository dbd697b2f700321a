#include "render/process_details.h"

#include "render/processes.h"
#include "render/shared/json.h"
#include "render/shared/table.h"
#include "render/shared/term_line.h"
#include "render/shared/units.h"
#include "render/shared/void_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace beamdump::render {

namespace {

std::string fact_text(const query::Fact& fact, const query::DumpFacts& facts) {
    if (const auto* text = std::get_if<std::string>(&fact.value)) {
        return one_line(facts.names.shown(*text));
    }
    if (const auto* flag = std::get_if<bool>(&fact.value)) {
        return *flag ? "true" : "false";
    }
    const auto number = std::get<std::uint64_t>(fact.value);
    switch (fact.unit) {
        case query::FactUnit::kBytes:
            return bytes_text(number);
        case query::FactUnit::kWords:
            return fmt::format("{} ({})", counted(number, "word"),
                               bytes_text(number * facts.word_bytes));
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

/// A pid with what tables call the process.
std::string other_process(const std::string& pid, const std::optional<std::string>& name) {
    return one_line(name ? pid + " " + *name : pid);
}

/// The other process of a link or monitor.
template <typename Line>
std::string other_process(const Line& line) {
    return other_process(line.other, line.display_name);
}

/// One by name shows the name in the node's language.
void print_monitors(Output& output, std::string_view title, const query::NodeNames& names,
                    const query::Excerpt<query::MonitorLine>& list) {
    print_list(output, title, list, {{""}, {""}, {""}}, [&](const query::MonitorLine& line) {
        return std::vector{line.kind, names.shown(other_process(line)),
                           line.reference.value_or("")};
    });
}

void print_suspending(Output& output, const query::ProcessDetails& details) {
    print_list(output, "Suspending", details.suspending, {{""}, {""}},
               [&](const query::SuspendLine& line) {
                   return std::vector{line.process, fmt::format("{} active, {} outstanding",
                                                                line.active, line.outstanding)};
               });
}

void print_stacktrace(Output& output, const query::ProcessDetails& details) {
    print_list(
        output, "Current stacktrace", details.stacktrace,
        {{"", Align::kLeft, true}, {"", Align::kLeft, true}}, [&](const query::CodeLine& line) {
            const bool known = line.file && line.line;
            return std::vector{one_line(details.dump.names.shown(line.function)),
                               known ? one_line(fmt::format("{}:{}", *line.file, *line.line)) : ""};
        });
}

void print_binaries(Output& output, const query::ProcessDetails& details) {
    print_list(output, "Binary", details.binaries,
               {{"ADDRESS"}, {"SIZE", Align::kRight}, {"REFERENCES", Align::kRight}},
               [&](const query::ReferencedBinary& line) {
                   return std::vector{fmt::format("{:#x}", line.address),
                                      line.size_bytes ? bytes_text(*line.size_bytes) : "?",
                                      line.references ? count_text(*line.references) : "?"};
               });
}

void print_arguments(Output& output, const query::ProcessDetails& details) {
    print_list(output, "Saved x registers", details.arguments, {{""}, {""}},
               [&](const query::ArgumentLine& line) {
                   return std::vector<Table::Cell>{{fmt::format("x({})", line.index)},
                                                   term_cell(line.term)};
               });
}

void print_regions(Output& output, const query::ProcessDetails& details) {
    print_list(output, "Regions", details.regions,
               {{"KIND"}, {"ADDRESS"}, {"SIZE", Align::kRight}, {"CAPTURED", Align::kRight}, {""}},
               [&](const query::RegionLine& line) {
                   return std::vector{line.kind, fmt::format("{:#x}", line.address),
                                      bytes_text(line.total_bytes), bytes_text(line.captured_bytes),
                                      line.absent_because.value_or("")};
               });
}

void print_lists(Output& output, const query::ProcessDetails& details) {
    print_stacktrace(output, details);
    print_arguments(output, details);
    if (details.relations_known) {
        print_list(output, "Links", details.links, {{""}, {""}, {""}},
                   [&](const query::LinkLine& line) {
                       return std::vector<std::string>{line.kind, other_process(line),
                                                       line.unlinking ? "unlinking" : ""};
                   });
        print_monitors(output, "Monitors", details.dump.names, details.monitors);
        print_monitors(output, "Monitored by", details.dump.names, details.monitored_by);
    }
    print_suspending(output, details);
    print_list(output, "System tasks", details.system_tasks, {{""}, {""}, {""}, {""}},
               [&](const query::SystemTaskLine& line) {
                   return std::vector<std::string>{
                       line.kind, one_line(details.dump.names.shown(line.module.value_or(""))),
                       line.dirty ? "dirty" : line.priority.value_or(""),
                       line.requester ? "for " + other_process(*line.requester, line.display_name)
                                      : std::string("for the VM")};
               });
    print_list(output, "Signals", details.signals, {{""}, {"", Align::kRight}},
               [](const query::SignalLine& line) {
                   return std::vector<std::string>{line.kind, count_text(line.count)};
               });
    print_binaries(output, details);
    print_list(output, "Dictionary", details.dictionary,
               {{"", Align::kLeft, true}, {"", Align::kLeft, true}},
               [&](const query::DictionaryLine& line) {
                   return std::vector{term_cell(line.key), term_cell(line.value)};
               });
    if (!details.withheld) {
        print_list(output, "Messages", details.messages, {{"", Align::kRight}, {""}, {""}},
                   [&](const query::MessageLine& line) {
                       return std::vector<Table::Cell>{
                           {count_text(line.index)}, {line.queue}, term_cell(line.term)};
                   });
    }
    print_regions(output, details);
}

}  // namespace

void process_details_text(Output& output, const query::ProcessDetails& details) {
    print_layout_notice(output, details.dump.layout);
    output.print("{}  {}\n", details.line.pid, process_name(details.line));
    if (details.line.void_reason) {
        output.print("VOID: it {}{}{}; only its structure is shown\n",
                     std::string(void_clause(*details.line.void_reason)),
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
            std::string text = fact_text(fact, details.dump);
            if (fact.name == "memory" && details.dump.memory_of_heaps) {
                text +=
                    " (stack, heap, old heap and heap fragments only: the crash dump has no more)";
            }
            table.add({fact.name, std::move(text)});
        }
        table.print(output, "  ");
    }
    print_lists(output, details);
}

namespace {

void write_fact(JsonWriter& json, const query::Fact& fact) {
    if (const auto* text = std::get_if<std::string>(&fact.value)) {
        json.member(fact.name, *text);
    } else if (const auto* flag = std::get_if<bool>(&fact.value)) {
        json.member(fact.name, *flag);
    } else if (fact.unit == query::FactUnit::kAddress || fact.unit == query::FactUnit::kBits) {
        json.hex_member(fact.name, std::get<std::uint64_t>(fact.value));
    } else {
        json.member(fact.name, std::get<std::uint64_t>(fact.value));
    }
}

template <typename Item, typename Write>
void write_list(JsonWriter& json, std::string_view name, const query::Excerpt<Item>& list,
                Write write) {
    json.begin_object(name);
    json.member("total", list.total);
    write_objects(json, "items", list.items, write);
    json.end_object();
}

/// A list that the dump does not have is absent.
template <typename Item, typename Write>
void write_list(JsonWriter& json, std::string_view name,
                const std::optional<query::Excerpt<Item>>& list, Write write) {
    if (list) {
        write_list(json, name, *list, write);
    }
}

void write_relations(JsonWriter& json, const query::ProcessDetails& details) {
    if (!details.relations_known) {
        return;
    }
    write_list(json, "links", details.links, [&json](const query::LinkLine& line) {
        json.member("kind", line.kind);
        json.member("other", line.other);
        json.member("display_name", line.display_name);
        json.member("unlinking", line.unlinking);
    });
    const auto write_monitor = [&json](const query::MonitorLine& line) {
        json.member("kind", line.kind);
        json.member("other", line.other);
        json.member("display_name", line.display_name);
        json.member("reference", line.reference);
    };
    write_list(json, "monitors", details.monitors, write_monitor);
    write_list(json, "monitored_by", details.monitored_by, write_monitor);
}

void write_suspending(JsonWriter& json, const query::ProcessDetails& details) {
    write_list(json, "suspending", details.suspending, [&json](const query::SuspendLine& line) {
        json.member("process", line.process);
        json.member("active", line.active);
        json.member("outstanding", line.outstanding);
    });
}

void write_tasks_and_signals(JsonWriter& json, const query::ProcessDetails& details) {
    write_list(json, "system_tasks", details.system_tasks,
               [&json](const query::SystemTaskLine& line) {
                   json.member("kind", line.kind);
                   json.member("module", line.module);
                   json.member("priority", line.priority);
                   json.member("dirty", line.dirty);
                   json.member("requester", line.requester);
                   json.member("display_name", line.display_name);
               });
    write_list(json, "signals", details.signals, [&json](const query::SignalLine& line) {
        json.member("kind", line.kind);
        json.member("count", line.count);
    });
}

void write_stacktrace(JsonWriter& json, const query::ProcessDetails& details) {
    write_list(json, "current_stacktrace", details.stacktrace,
               [&json](const query::CodeLine& line) {
                   json.member("function", line.function);
                   json.member("file", line.file);
                   json.member("line", line.line);
               });
}

void write_binaries(JsonWriter& json, const query::ProcessDetails& details) {
    write_list(json, "binary", details.binaries, [&json](const query::ReferencedBinary& line) {
        json.hex_member("address", line.address);
        json.member("size_bytes", line.size_bytes);
        json.member("references", line.references);
    });
}

void write_arguments(JsonWriter& json, const query::ProcessDetails& details) {
    write_list(json, "arguments", details.arguments, [&json](const query::ArgumentLine& line) {
        json.member("index", line.index);
        write_term(json, "term", line.term);
    });
}

void write_terms(JsonWriter& json, const query::ProcessDetails& details) {
    if (details.withheld) {
        return;
    }
    write_list(json, "dictionary", details.dictionary, [&json](const query::DictionaryLine& line) {
        write_term(json, "key", line.key);
        write_term(json, "value", line.value);
    });
    write_list(json, "messages", details.messages,
               [&json](const query::MessageLine& line) { write_message_members(json, line); });
}

void write_regions(JsonWriter& json, const query::ProcessDetails& details) {
    write_list(json, "regions", details.regions, [&json](const query::RegionLine& line) {
        json.member("kind", line.kind);
        json.hex_member("address", line.address);
        json.member("total_bytes", line.total_bytes);
        json.member("captured_bytes", line.captured_bytes);
        json.member("absent_because", line.absent_because);
    });
}

}  // namespace

void process_details_json(Output& output, const query::ProcessDetails& details) {
    JsonWriter json(output, "beamdump.process/1");
    write_dump(json, "dump", details.dump);
    json.member("pid", details.line.pid);
    json.member("void_reason", details.line.void_reason);
    json.member("void_detail", details.void_detail);
    for (const query::FactGroup& group : details.groups) {
        json.begin_object(group.name);
        for (const query::Fact& fact : group.facts) {
            write_fact(json, fact);
        }
        json.end_object();
    }
    write_stacktrace(json, details);
    write_relations(json, details);
    write_suspending(json, details);
    write_tasks_and_signals(json, details);
    write_arguments(json, details);
    write_binaries(json, details);
    json.member("withheld", details.withheld);
    write_terms(json, details);
    write_regions(json, details);
    json.member("placeholders", details.all_placeholders());
    json.finish();
}

}  // namespace beamdump::render
