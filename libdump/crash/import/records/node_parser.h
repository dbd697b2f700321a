#pragma once

#include <libdump/crash/import/words/element_parser.h>
#include <libdump/crash/text/crash_dump.h>

#include <records.pb.h>

namespace beamdump::crash {

/// The facts in the dump's head and in its sections about the whole node.
struct ParsedNode {
    records::Node node;
    records::Capture capture;
    records::Totals totals;
    format::TermScheme scheme = format::TermScheme::kOtp25;
    bool base64 = true;
};

Result<ParsedNode> parse_node(const CrashDump& dump);

/// Collects the names of other nodes by their numbers.
Result<void> parse_other_nodes(const CrashDump& dump, Names& names);

}  // namespace beamdump::crash
