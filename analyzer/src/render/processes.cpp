#include "render/processes.h"

#include "render/process_table.h"
#include "render/shared/json.h"
#include "render/shared/known.h"
#include "render/shared/layout.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::render {

Result<void> processes_text(Output& output, query::ProcessListing& listing,
                            const query::DumpFacts& facts) {
    print_layout_notice(output, facts.layout);
    print_memory_notice(output, facts);
    const Marks marks(facts.layout);
    while (output.ok()) {
        ASSIGN_OR_RETURN(auto lines, listing.next());
        if (lines.empty()) {
            break;
        }
        print_process_table(output, lines, marks, listing.columns(), facts.word_bytes);
    }
    print_rest(output, listing.shown(), listing.matching());
    if (listing.matching() == 0) {
        print_none(output, facts, listing.total(), "processes");
    } else if (query::may_lack_some(facts, "proc")) {
        output.print("at least {}: the crash dump breaks off before the end of their sections\n",
                     counted(listing.total(), "process", "processes"));
    }
    return {};
}

Result<void> processes_json(Output& output, query::ProcessListing& listing,
                            const query::DumpFacts& facts) {
    JsonWriter json(output, "beamdump.processes/1");
    write_dump(json, "dump", facts);
    write_totals(json, facts, listing.total(), listing.matching());
    json.begin_array("processes");
    while (output.ok()) {
        ASSIGN_OR_RETURN(auto lines, listing.next());
        if (lines.empty()) {
            break;
        }
        for (const query::ProcessLine& line : lines) {
            json.begin_object();
            write_process_members(json, line);
            json.end_object();
        }
    }
    json.end_array();
    json.finish();
    return {};
}

}  // namespace beamdump::render
