#include "query/activity/nodes.h"
#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace beamdump::query {

namespace {

struct Busy {
    std::string node;
    std::uint64_t queued_bytes = 0, suspended = 0;
};

}  // namespace

/// Connections that are so busy that processes wait: their node reads too slowly, or the network is
/// slow.
Result<RuleAnswer> busy_connection_rule(NodeFacts& facts) {
    if (facts.dump().trailer().distribution_offset().empty()) {
        return fail(ErrorCode::kNotFound,
                    "the dump has no connections to other nodes, or only as text");
    }
    std::vector<Busy> busy;
    RETURN_IF_ERROR(visit_connections(facts.dump(), [&](const NodeConnection& connection) {
        if (connection.busy && connection.suspended.value_or(0) != 0) {
            busy.push_back({connection.node, connection.queued_bytes, *connection.suspended});
        }
    }));
    std::ranges::sort(busy, [](const Busy& one, const Busy& other) {
        return std::tuple(other.suspended, other.queued_bytes, one.node) <
               std::tuple(one.suspended, one.queued_bytes, other.node);
    });
    busy.resize(std::min<std::size_t>(busy.size(), kMostOfARule));
    RuleAnswer answer;
    for (auto& connection : busy) {
        Finding finding;
        finding.sentence = fmt::format(
            "The connection to {} is busy: {} of data wait to be sent, and {} that sent more {} "
            "suspended.",
            connection.node, bytes_text(connection.queued_bytes),
            counted(connection.suspended, "process", "processes"),
            connection.suspended == 1 ? "is" : "are");
        finding.command = facts.command("nodes", {"--filter", "busy=true"});
        finding.figures = {{"suspended", connection.suspended},
                           {"queued_bytes", connection.queued_bytes},
                           {"node", std::move(connection.node)}};
        finding.values = {"nodes.node", "nodes.busy", "nodes.queue", "nodes.suspended"};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
