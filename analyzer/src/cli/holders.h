#pragma once

#include "cli/command.h"
#include "cli/shared_options.h"
#include "cli/term_options.h"
#include "query/holders/refs.h"

#include <cstdint>
#include <string>

namespace beamdump::cli {

/// How holders of one thing are asked for.
struct HolderQuestion {
    std::string dump;
    std::string target;
    std::string schema;  ///< of the answer in JSON
    std::uint64_t limit = 20;
    bool sensitive = false;
    /// Shown of a binary, and of each part of it that a place shows.
    std::uint64_t most_bytes = query::BinaryBeginning::kMostBytes;
};

/// --max-bytes
void add_most_bytes(CLI::App& app, HolderQuestion& question);
/// kUsage: more bytes than are shown.
[[nodiscard]] Result<void> check_most_bytes(const HolderQuestion& question);

/// Writes the holders as they are found.
Result<Outcome> answer_holders(Invocation& invocation, const HolderQuestion& question,
                               const AnswerOptions& options, TermOptions& terms);

/// Says what the terms of processes lack, where terms were searched; and those of tables.
Outcome report_search_gaps(Invocation& invocation, const query::ProcessesRead& read,
                           std::uint64_t undecoded_messages, std::uint64_t unreadable,
                           const query::NodeSweepCounts& node = {});

}  // namespace beamdump::cli
