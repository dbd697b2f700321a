#include "render/holders.h"

#include "render/processes.h"
#include "render/shared/layout.h"
#include "render/shared/process_counts.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

namespace beamdump::render {

std::string place_text(const query::TermPlace& place) {
    std::string text = place.root;
    for (const std::string& step : place.path) {
        text += " -> " + step;
    }
    return text;
}

std::string owner_text(const query::TermOwner& owner) {
    return owner.process.pid.empty()
               ? "-"
               : fmt::format("{} {}", owner.process.pid, process_name(owner.process));
}

void write_owner(JsonWriter& json, const query::TermOwner& owner) {
    if (!owner.process.pid.empty()) {
        json.begin_object("process");
        write_process_members(json, owner.process);
        json.end_object();
    }
    json.member("table", owner.table);
    json.member("module", owner.module);
    if (owner.persistent_terms) {
        json.member("persistent_terms", true);
    }
}

void write_searched(JsonWriter& json, const query::NodeSweepCounts& node) {
    json.member("searched_tables", node.tables);
    if (!node.of_crash_dump) {
        json.member("tables_without_rows", node.tables_without);
    }
    json.member("compressed_rows", node.compressed_rows);
    json.member("searched_modules", node.modules);
    json.member("searched_persistent_terms", node.persistent_terms);
    if (!node.of_crash_dump) {
        json.member("persistent_terms_without", node.persistent_terms_without);
    }
    if (const auto sentences = query::not_searched(node); !sentences.empty()) {
        json.begin_array("not_searched");
        for (const auto& sentence : sentences) {
            json.value(sentence);
        }
        json.end_array();
    }
}

void write_place(JsonWriter& json, const query::TermPlace& place) {
    json.member("root", place.root);
    json.begin_array("path");
    for (const std::string& step : place.path) {
        json.value(step);
    }
    json.end_array();
}

void holders_text_begin(Output& output, const query::DumpFacts& facts,
                        const query::RefTarget& target) {
    print_layout_notice(output, facts.layout);
    output.print("Holders of {} {}\n", query::target_kind_text(target.kind), one_line(target.text));
}

void holder_text(Output& output, const query::HolderLine& line) {
    std::string text =
        fmt::format("  {}  {}", owner_text(line.owner), one_line(place_text(line.place)));
    if (line.slice) {
        text += fmt::format("  bytes {} to {}", count_text(line.slice->first),
                            count_text(line.slice->first + line.slice->bytes));
    }
    print_line(output, text);
}

void holders_text_end(Output& output, const query::RefsAnswer& answer, std::uint64_t shown,
                      const std::optional<std::uint64_t>& references) {
    if (shown < answer.found) {
        output.print("  {}; --limit 0 shows all\n", counted(answer.found - shown, "more place"));
    }
    output.print("{} in {}", counted(answer.found, "place"), owners_text(answer));
    if (answer.garbage != 0) {
        output.print("; {} of garbage, which a collection removes",
                     counted(answer.garbage, "reference"));
    }
    if (references) {
        output.print("; the VM counts {}", counted(*references, "reference"));
    }
    output.write("\n");
}

void holders_json_begin(JsonWriter& json, const query::DumpFacts& facts,
                        const query::RefTarget& target) {
    write_dump(json, "dump", facts);
    json.begin_object("target");
    json.member("kind", query::target_kind_text(target.kind));
    json.member("text", target.text);
    json.end_object();
    json.begin_array("holders");
}

void holder_json(JsonWriter& json, const query::HolderLine& line) {
    json.begin_object();
    write_owner(json, line.owner);
    write_place(json, line.place);
    if (line.slice) {
        json.member("first_byte", line.slice->first);
        json.member("bytes", line.slice->bytes);
    }
    json.end_object();
}

void holders_json_end(JsonWriter& json, const query::RefsAnswer& answer,
                      const std::optional<std::uint64_t>& references) {
    json.end_array();
    json.member("found", answer.found);
    write_owner_counts(json, answer);
    json.member("garbage", answer.garbage);
    json.member("references", references);
    json.member("undecoded_messages", answer.undecoded_messages);
    json.member("unreadable", answer.unreadable);
    write_processes_read(json, answer.read);
    json.finish();
}

}  // namespace beamdump::render
