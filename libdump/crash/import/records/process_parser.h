#pragma once

#include <libdump/crash/import/words/element_parser.h>
#include <libdump/crash/text/crash_dump.h>
#include <libdump/format/process_row.h>

#include <records.pb.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace beamdump::crash {

/// The facts in a =proc section (break.c, print_process_info).
struct ParsedProcess {
    records::Process process;
    std::optional<std::uint64_t> memory_bytes;
    std::vector<records::Relations> relations;
    std::uint64_t links = 0;
    std::uint64_t monitors = 0;
    RelationCounts counts;
    /// Whether the text tells the relations; not where it breaks off before them, or of a process
    /// that was exiting.
    bool has_relations = false;
    std::uint64_t heap_unused_words = 0;  ///< of the new heap: above its top, including the stack
    bool has_heap_unused = false;
};

/// Reads the section. Unknown and malformed lines are skipped.
Result<ParsedProcess> parse_process(const TextSource& source, TextWindow& window,
                                    const ProcessSections& sections, const TextFormat& format,
                                    Names& names);

}  // namespace beamdump::crash
