#include "render/process_details.h"
#include "render/shared/json.h"

#include <optional>
#include <string_view>

namespace beamdump::render {

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
    write_arguments(json, details);
    write_binaries(json, details);
    json.member("withheld", details.withheld);
    write_terms(json, details);
    write_regions(json, details);
    json.member("placeholders", details.all_placeholders());
    json.finish();
}

}  // namespace beamdump::render
