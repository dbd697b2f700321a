#pragma once

#include "query/facts/layout_facts.h"
#include "query/facts/node_syntax.h"

#include <libdump/model/dump.h>
#include <libdump/model/node_scheme.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// The dump of an answer, and whether it is complete. In every answer.
struct DumpFacts {
    std::string file;
    std::uint64_t file_bytes = 0;
    std::optional<std::uint64_t> stream_bytes;  ///< decompressed; nullopt for a crash dump
    std::optional<std::string> damage;          ///< set if the dump was truncated
    /// Set if values in it are hidden: the policy, and when that was done.
    std::optional<std::string> redaction;
    std::optional<std::string> node_name;
    std::optional<std::int64_t> captured_us;  ///< since the Unix epoch
    std::optional<LayoutFacts> layout;        ///< set if it is not the release's own
    std::uint64_t word_bytes = 8;             ///< of the node
    /// A process's memory is computed as stack, heap, old heap and heap fragments: a crash dump of
    /// a release before R16B01.
    bool memory_of_heaps = false;
    /// The node may still run: its memory was read while it did.
    bool of_running_node = false;
    /// Whether the text of a crash dump is whole.
    std::optional<bool> text_complete;
    /// The section that a truncated text ends in ("proc"); empty where the dump does not tell.
    std::string cut_off_section;
    /// One sentence for each thing that a reader should know of a crash dump's text, such as
    /// another dump that follows.
    std::vector<std::string> text_notes;
    /// Set of an export: how much it holds (facts, processes or stacks).
    std::optional<std::string> export_detail;
    std::optional<TermSyntax> term_syntax;  ///< of the texts of terms, if the answer has any
    NodeNames names;
};

/// How many things the dump has, of `found` ones that it tells; nothing where its text breaks off
/// before the first of them, so that none is a number that nobody knows.
std::optional<std::uint64_t> known_total(const DumpFacts& facts, std::uint64_t found);

/// Whether the text of a crash dump breaks off before the last section of that tag, as far as it
/// tells: there may be more of them than it has.
bool may_lack_some(const DumpFacts& facts, std::string_view tag);

/// DumpFacts::text_notes.
std::vector<std::string> text_notes(Dump& dump);

DumpFacts dump_facts(Dump& dump, const std::string& file);

/// kNotFound: the dump has no records of `things`, such as "ports". Says why that may be.
std::unexpected<Error> not_in_dump(Dump& dump, std::string_view things);

}  // namespace beamdump::query
