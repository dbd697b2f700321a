#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/model/node_scheme.h>

namespace beamdump::query {

/// A stopped node still keeps its connections: other nodes see a busy one, and then a timeout.
Result<RuleAnswer> stopped_node_rule(NodeFacts& facts) {
    RuleAnswer answer;
    if (is_of_crash_dump(facts.dump())) {
        return answer;  // its node has ended
    }
    const auto& capture = facts.dump().capture();
    if (!capture.has_process_state()) {
        return fail(ErrorCode::kNotFound, "the dump does not tell the state of the node's process");
    }
    if (capture.process_state() != "T") {
        return answer;
    }
    Finding finding;
    finding.sentence =
        "The node was stopped by a signal (SIGSTOP, SIGTSTP) before the capture began: nothing "
        "runs in it until SIGCONT.";
    finding.command = facts.command("schedulers");
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
