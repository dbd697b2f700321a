#include "query/activity/schedulers.h"
#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace beamdump::query {

namespace {

/// A node that has just enough work has less than ten in a queue, one that sends to hundreds of
/// processes at once has them there for a moment.
constexpr std::uint64_t kLongQueue = 200;

bool is_shared(const SchedulerLine& line) {
    return !line.scheduler && line.kind.ends_with("_queue");
}

std::string queue_name(const SchedulerLine& line) {
    if (is_shared(line)) {
        return line.kind.starts_with("dirty_cpu") ? "the run queue of dirty CPU schedulers"
                                                  : "the run queue of dirty I/O schedulers";
    }
    return line.scheduler ? fmt::format("the run queue of scheduler {}", *line.scheduler)
                          : "a run queue";
}

Result<std::string> process_name(NodeFacts& facts, const std::string& pid) {
    const auto row = facts.dump().find_process(pid);
    if (row) {
        return facts.named(pid);
    }
    // It may have started after the process table was read.
    return row.error().code == ErrorCode::kNotFound ? Result<std::string>(pid)
                                                    : std::unexpected(row.error());
}

}  // namespace

Result<RuleAnswer> run_queue_rule(NodeFacts& facts) {
    RuleAnswer answer;
    ASSIGN_OR_RETURN(auto lines, scheduler_lines(facts.dump(), facts.file()));
    std::ranges::stable_sort(lines, std::greater(),
                             [](const auto& line) { return line.queue.value_or(0); });
    std::uint64_t unknown = 0;
    for (const auto& line : lines) {
        unknown += (line.kind == "normal" || is_shared(line)) && !line.queue ? 1 : 0;
        if (line.queue.value_or(0) < kLongQueue || answer.findings.size() == kMostOfARule) {
            continue;
        }
        Finding finding;
        finding.sentence = fmt::format("{} processes and ports wait in {}", count_text(*line.queue),
                                       queue_name(line));
        finding.figures = {{"waiting", *line.queue}, {"kind", line.kind}};
        if (line.scheduler) {
            finding.figures.push_back({"scheduler", *line.scheduler});
        }
        if (line.process) {
            ASSIGN_OR_RETURN(const auto name, process_name(facts, *line.process));
            finding.sentence += fmt::format(", which runs {}", name);
            finding.figures.push_back({"process", *line.process});
        }
        finding.sentence += '.';
        finding.command = facts.command("schedulers");
        finding.values = {"schedulers.queue"};
        answer.findings.push_back(std::move(finding));
    }
    if (unknown != 0) {
        answer.left_out = fmt::format("{} could not be read", counted(unknown, "run queue"));
    }
    return answer;
}

}  // namespace beamdump::query
