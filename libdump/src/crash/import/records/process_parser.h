#pragma once

#include "crash/import/words/element_parser.h"

#include <libdump/crash/text/crash_dump.h>

#include <records.pb.h>

#include <vector>

namespace beamdump::crash {

/// What a section =proc says (break.c, print_process_info).
struct ParsedProcess {
    records::Process process;
    records::ProcessRow row;
    std::vector<records::Relations> relations;
    std::uint64_t links = 0;
    std::uint64_t monitors = 0;
    std::uint64_t heap_unused_words =
        0;  ///< of the new heap: what lies over its top, the stack too
    bool has_heap_unused = false;
};

/// Reads the section. A line that is not known, or whose value makes no sense, is passed over: what
/// it would say is not in the result.
Result<ParsedProcess> parse_process(const TextSource& source, TextWindow& window,
                                    const ProcessSections& sections, const TextFormat& format,
                                    Names& names);

}  // namespace beamdump::crash
