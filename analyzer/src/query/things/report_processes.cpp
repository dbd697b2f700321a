#include "query/things/report_processes.h"

#include "query/process/process_names.h"
#include "query/processes/process_tree.h"
#include "query/processes/processes.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace beamdump::query {

namespace {

/// Pids of the processes with the longest queues.
Result<std::unordered_set<std::string>> longest_queues(Dump& dump) {
    ProcessQuery query;
    query.sort = {{.by = ProcessColumn::kQueue}};
    query.limit = kMostMailboxes;
    ASSIGN_OR_RETURN(auto listing, ProcessListing::select(dump, query));
    std::unordered_set<std::string> pids;
    for (;;) {
        ASSIGN_OR_RETURN(const auto lines, listing.next());
        if (lines.empty()) {
            return pids;
        }
        for (const ProcessLine& line : lines) {
            if (line.message_queue_length.value_or(0) > 0) {
                pids.insert(line.pid);
            }
        }
    }
}

Result<Mailbox> read_mailbox(Dump& dump, std::uint64_t owner, OpenedProcess* process) {
    Mailbox mailbox{owner, std::nullopt};
    if (process == nullptr) {
        return mailbox;
    }
    ASSIGN_OR_RETURN(auto shapes, message_histogram(dump, *process));
    for (; shapes.shapes.size() > kMostShapes; shapes.shapes.pop_back()) {
        shapes.other += shapes.shapes.back().count;
    }
    mailbox.shapes = std::move(shapes);
    return mailbox;
}

std::optional<std::uint64_t> parent_of(const ProcessParents& parents, std::uint64_t owner) {
    const auto known = std::ranges::lower_bound(parents.pairs, owner, {},
                                                [](const auto& pair) { return pair.first; });
    return known != parents.pairs.end() && known->first == owner ? std::optional(known->second)
                                                                 : std::nullopt;
}

}  // namespace

Result<ReportProcesses> visit_report_processes(
    Dump& dump, const ReportOptions& options,
    const std::function<Result<void>(const ReportProcess&)>& visit) {
    TreeOptions tree;
    tree.sensitive = options.sensitive;
    tree.progress = options.progress;
    ASSIGN_OR_RETURN(const auto parents, process_parents(dump, tree));
    ASSIGN_OR_RETURN(const auto queues, longest_queues(dump));
    ReportProcesses answer;
    ProcessNames names(dump);
    StackProfileOptions profile;
    profile.sensitive = options.sensitive;
    profile.limits = options.limits;
    profile.progress = options.progress;
    profile.visit = [&](const ProcessLine& line, std::uint64_t owner, std::uint32_t node,
                        OpenedProcess* process) -> Result<void> {
        answer.with_messages += line.message_queue_length.value_or(0) > 0 ? 1 : 0;
        if (queues.contains(line.pid)) {
            ASSIGN_OR_RETURN(auto mailbox, read_mailbox(dump, owner, process));
            answer.mailboxes.push_back(std::move(mailbox));
        }
        if (process != nullptr) {
            names.add_to(*process);
        }
        // `line` is the process's own.
        return visit({owner, parent_of(parents, owner), node, line});
    };
    ASSIGN_OR_RETURN(answer.stacks, StackProfile::make(dump, profile));
    return answer;
}

}  // namespace beamdump::query
