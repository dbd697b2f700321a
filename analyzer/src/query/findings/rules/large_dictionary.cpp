#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/process/process_details.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace beamdump::query {

namespace {

/// Dictionaries hold a handful of an application's settings; what has thousands grows.
constexpr std::uint64_t kManyEntries = 10'000;
/// Words of an entry at least: a slot, and a tuple of key and value.
constexpr std::uint64_t kLeastBytes = kManyEntries * 4 * 8;

using Sized = std::pair<std::uint64_t, ProcessLine>;

void add_if_large(const records::Process& process, ProcessLine line, std::vector<Sized>& found) {
    if (process.dictionary_entries() >= kManyEntries) {
        found.emplace_back(process.dictionary_entries(), std::move(line));
    }
}

/// Of the largest processes.
Result<std::vector<Sized>> look_at_largest(NodeFacts& facts, const ProcessScan& scan,
                                           std::optional<std::string>& left_out) {
    std::vector<Sized> found;
    for (const auto& [bytes, number] : scan.largest) {
        if (bytes < kLeastBytes) {
            return found;
        }
        ASSIGN_OR_RETURN(const auto rows, facts.dump().processes().rows({&number, 1}));
        if (rows[0].void_reason() != records::VOID_REASON_NONE) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto process,
                         facts.dump().reader().message_at<records::Process>(
                             rows[0].begin_offset(), format::RecordKind::kProcess));
        add_if_large(process, process_line(facts.dump(), rows[0]), found);
    }
    if (scan.largest.size() == ProcessScan::kRanked) {
        left_out = fmt::format("looked at the {} largest processes only", scan.largest.size());
    }
    return found;
}

Result<std::vector<Sized>> look_at_all(NodeFacts& facts) {
    std::vector<Sized> found;
    // How many entries there are is no content of them.
    ASSIGN_OR_RETURN(
        const auto read,
        visit_processes(facts.dump(), {.sensitive = true, .progress = facts.options().progress},
                        [&found](OpenedProcess& process) -> Result<void> {
                            add_if_large(process.run.process, process.line, found);
                            return {};
                        }));
    facts.tell_read(read);
    return found;
}

}  // namespace

Result<RuleAnswer> large_dictionary_rule(NodeFacts& facts) {
    if (is_of_crash_dump(facts.dump())) {
        return fail(ErrorCode::kNotFound,
                    "a crash dump does not count the entries of dictionaries");
    }
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    ASSIGN_OR_RETURN(auto found, facts.full() ? look_at_all(facts)
                                              : look_at_largest(facts, *scan, answer.left_out));
    answer.left_to_full = answer.left_out.has_value();
    std::ranges::stable_sort(found, std::greater(), &Sized::first);
    found.resize(std::min<std::size_t>(found.size(), kMostOfARule));
    for (const auto& [entries, line] : found) {
        Finding finding;
        finding.sentence = fmt::format("A process dictionary of {} entries in {}.",
                                       count_text(entries), process_with_name(line));
        finding.command = facts.command("dictionary", {pid_word(line)});
        finding.figures = {{"entries", entries}, {"process", line.pid}};
        finding.values = {"pid", "dictionary.entries", "registered_name"};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
