#include "query/activity/ports.h"
#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

namespace {

/// A port is busy for a moment whenever much is sent.
constexpr std::uint64_t kManySuspended = 10;

}  // namespace

/// A process that sends to a busy port is suspended until its queue is shorter (io.c,
/// erts_port_output(); OTP 25 to 29). Those of connections to nodes are another rule's.
Result<RuleAnswer> busy_port_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    const auto suspended = scan->statuses.find("suspended");
    if (suspended == scan->statuses.end() || suspended->second < kManySuspended) {
        return answer;
    }
    std::uint64_t busy = 0;
    PortState fullest;
    RETURN_IF_ERROR(visit_ports(facts.dump(), facts.file(), [&](const PortState& port) {
        if (!port.busy || port.distribution) {
            return;
        }
        if (busy == 0 || port.queued_bytes > fullest.queued_bytes) {
            fullest = port;
        }
        ++busy;
    }));
    if (busy == 0) {
        return answer;
    }
    Finding finding;
    finding.sentence = fmt::format(
        "{} processes are suspended, and {} busy: who sends to such a port waits; most is queued "
        "in {} ({}), {}.",
        count_text(suspended->second), busy == 1 ? "1 port is" : count_text(busy) + " ports are",
        fullest.port, fullest.name.empty() ? "name unknown" : fullest.name,
        bytes_text(fullest.queued_bytes));
    finding.command = facts.command("ports", {"--filter", "busy=true"});
    finding.figures = {{"suspended", suspended->second},
                       {"busy_ports", busy},
                       {"queued_bytes", fullest.queued_bytes},
                       {"port", fullest.port}};
    finding.values = {"status", "ports.port", "ports.busy", "ports.queue"};
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
