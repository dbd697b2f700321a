#pragma once

#include "crash/import/words/element_parser.h"

#include <libdump/crash/text/crash_dump.h>

#include <records.pb.h>

namespace beamdump::crash {

/// What the dump's head and its sections about the node as a whole say.
struct ParsedNode {
    records::Node node;
    records::Capture capture;
    records::Totals totals;
    format::TermScheme scheme = format::TermScheme::kOtp25;
    bool base64 = true;
};

Result<ParsedNode> parse_node(const CrashDump& dump);

/// Notes the names of other nodes, by the numbers that stand for them.
Result<void> parse_other_nodes(const CrashDump& dump, Names& names);

}  // namespace beamdump::crash
