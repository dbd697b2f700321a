#include "render/search.h"

#include "render/holders.h"
#include "render/processes.h"
#include "render/shared/layout.h"
#include "render/shared/process_counts.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

namespace beamdump::render {

void search_text_begin(Output& output, const query::DumpFacts& facts) {
    print_layout_notice(output, facts.layout);
}

void found_text(Output& output, const query::NodeNames& names, const query::FoundTerm& term) {
    print_line(output, fmt::format("{}  {}  {}", owner_text(term.owner),
                                   one_line(names.shown(place_text(term.place))),
                                   counted(term.words, "word")));
    print_line(output, "    " + one_line(term.text));
}

void search_text_end(Output& output, const query::SearchAnswer& answer, std::uint64_t shown) {
    if (shown < answer.found) {
        output.print("{}; --limit 0 shows all\n", counted(answer.found - shown, "more term"));
    }
    output.print("{} in {}{}\n", counted(answer.found, "term"), owners_text(answer),
                 answer.stopped ? "; not searched further (--limit): there may be more" : "");
}

void search_json_begin(JsonWriter& json, const query::DumpFacts& facts, std::string_view pattern,
                       std::string_view text) {
    write_dump(json, "dump", facts);
    if (pattern.empty()) {
        json.member("text", text);
    } else {
        json.member("pattern", pattern);
    }
    json.begin_array("terms");
}

void found_json(JsonWriter& json, const query::FoundTerm& term) {
    json.begin_object();
    write_owner(json, term.owner);
    write_place(json, term.place);
    json.member("words", term.words);
    json.member("term", term.text);
    json.end_object();
}

void search_json_end(JsonWriter& json, const query::SearchAnswer& answer) {
    json.end_array();
    json.member("found", answer.found);
    if (answer.stopped) {
        json.member("stopped", true);
    }
    write_owner_counts(json, answer);
    json.begin_array("unknown_atoms");
    for (const auto& atom : answer.unknown_atoms) {
        json.value(atom);
    }
    json.end_array();
    json.member("partial_binaries", answer.partial_binaries);
    json.member("undecoded_messages", answer.undecoded_messages);
    json.member("unreadable", answer.unreadable);
    write_processes_read(json, answer.read);
    json.finish();
}

}  // namespace beamdump::render
