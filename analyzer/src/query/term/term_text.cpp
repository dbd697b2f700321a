#include "query/term/term_text.h"

#include "query/node/dump_facts.h"

#include <fmt/format.h>

#include <bit>

namespace beamdump::query {

std::size_t whole_characters(const std::string& text) {
    std::size_t length = text.size();
    for (std::size_t back = 1; back <= 4 && back <= length; ++back) {
        const auto byte = static_cast<unsigned char>(text[length - back]);
        if ((byte & 0xC0U) != 0x80U) {
            const std::size_t wanted = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
            return back < wanted ? length - back : length;
        }
    }
    return length;
}

Result<TagScheme> node_scheme(const Dump& dump) {
    const auto& node = dump.node();
    auto scheme = scheme_of(static_cast<format::TermScheme>(node.term_scheme()));
    if (scheme && is_of_crash_dump(dump)) {
        scheme->doubled_addresses = node_word_bytes(dump) < kWordBytes;
    }
    // Words that were made of a crash dump's text hold identifiers' numbers, not slots of a table.
    if (!scheme || scheme->id == format::TermScheme::kOtp25 || is_of_crash_dump(dump)) {
        return scheme;
    }
    scheme->pid_slots = node.process_limit();
    scheme->port_slots = node.port_limit();
    for (const auto slots : {scheme->pid_slots, scheme->port_slots}) {
        if (!std::has_single_bit(slots) || slots < format::kFewestSlots) {
            return fail(ErrorCode::kCorrupt,
                        fmt::format("the dump claims that the node's table of processes or ports "
                                    "has {} slots, which is impossible",
                                    slots));
        }
    }
    return scheme;
}

TermText term_text(TermPrinter& printer, std::uint64_t word, std::size_t max_bytes) {
    printer.start(word);
    return drain_text(printer, max_bytes);
}

std::uint64_t placeholders(const PrintStatistics& statistics) {
    return statistics.malformed + statistics.absent + statistics.partial_binaries;
}

}  // namespace beamdump::query
