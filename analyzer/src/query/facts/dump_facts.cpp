#include "query/facts/dump_facts.h"

#include <libdump/model/dump_form.h>
#include <libdump/model/redaction.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

namespace beamdump::query {

namespace {

/// Sections in the order of erl_crash_dump_v() (break.c of OTP 17 to 27, erl_crash_dump.c of 29)
/// and of erts_deep_process_dump() (erl_process_dump.c), those of one kind with one number;
/// compared with the sources of 25.2.3, 27.3.4 and 29.1.1. Others come before them.
constexpr std::array<std::pair<std::string_view, int>, 21> kOrderOfSections = {
    {{"proc", 1},
     {"port", 2},
     {"ets", 3},
     {"timer", 4},
     {"node", 5},
     {"no_distribution", 5},
     {"visible_node", 5},
     {"hidden_node", 5},
     {"not_connected", 5},
     {"loaded_modules", 6},
     {"mod", 6},
     {"fun", 7},
     {"proc_messages", 8},
     {"proc_dictionary", 8},
     {"proc_stack", 8},
     {"proc_heap", 8},
     {"persistent_terms", 9},
     {"literals", 10},
     {"binary", 11},
     {"atoms", 12},
     {"end", 13}}};

int place_of_section(std::string_view tag) {
    using Place = decltype(kOrderOfSections)::value_type;
    const auto* const found = std::ranges::find(kOrderOfSections, tag, &Place::first);
    return found == kOrderOfSections.end() ? 0 : found->second;
}

}  // namespace

std::optional<std::uint64_t> known_total(const DumpFacts& facts, std::uint64_t found) {
    return found == 0 && facts.text_complete == false ? std::nullopt : std::optional(found);
}

bool may_lack_some(const DumpFacts& facts, std::string_view tag) {
    return facts.text_complete == false &&
           place_of_section(facts.cut_off_section) <= place_of_section(tag);
}

std::vector<std::string> text_notes(Dump& dump) {
    std::vector<std::string> notes;
    // A truncated conversion has lost them, and has warnings about itself.
    if (is_of_crash_dump(dump) && !dump.reader().damage()) {
        // They are beside where the text is cut off, if it is.
        std::ranges::copy_if(
            dump.trailer().warning(), std::back_inserter(notes),
            [&](const std::string& warning) { return warning != dump.capture().cut_off(); });
    }
    return notes;
}

DumpFacts dump_facts(Dump& dump, const std::string& file) {
    DumpFacts facts;
    facts.file = file;
    // The path given by the user: the dump that is read may be a conversion of that file.
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(file, unknown);
    facts.file_bytes = unknown ? dump.reader().file_bytes() : bytes;
    const auto mode = dump.capture().mode();
    facts.of_running_node = mode != records::CAPTURE_MODE_CORE &&
                            mode != records::CAPTURE_MODE_CRASH_DUMP &&
                            mode != records::CAPTURE_MODE_CRASHED;
    // A crash dump's stream is made for the query and differs from that of `convert`.
    if (is_of_crash_dump(dump)) {
        facts.text_notes = text_notes(dump);
        facts.text_complete = dump.capture().cut_off().empty();
        facts.cut_off_section = dump.capture().cut_off_section();
    } else {
        facts.stream_bytes = dump.reader().flat_bytes();
    }
    if (const auto& damage = dump.reader().damage()) {
        facts.damage = damage->what;
    }
    // One that cannot be read was said when the dump was opened.
    facts.redaction = redaction_of(dump.reader()).value_or(std::nullopt);
    if (dump.node().has_name_atom()) {
        facts.node_name = dump.atoms().text(dump.node().name_atom());
    }
    if (dump.capture().has_started_us()) {
        facts.captured_us = dump.capture().started_us();
    }
    facts.layout = layout_facts(dump);
    facts.word_bytes = node_word_bytes(dump);
    facts.memory_of_heaps = dump.capture().memory_of_heaps();
    if (const auto& style = dump.term_style()) {
        facts.term_syntax = style->syntax;
    }
    facts.names = NodeNames(dump);
    return facts;
}

std::unexpected<Error> not_in_dump(Dump& dump, std::string_view things) {
    return fail(
        ErrorCode::kNotFound,
        !is_of_crash_dump(dump)
            ? fmt::format("the dump has no {}: it was captured by an older version, or they could "
                          "not be read (the warnings of summary tell)",
                          things)
        : dump.capture().has_cut_off()
            ? fmt::format("the crash dump breaks off before its sections of {}", things)
        : dump.reader().damage()
            ? fmt::format("the part of the file with {} is missing, or an older version converted "
                          "the crash dump",
                          things)
            : fmt::format("the crash dump has no sections of {}", things));
}

}  // namespace beamdump::query
