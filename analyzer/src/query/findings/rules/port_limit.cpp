#include "query/activity/ports.h"
#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

/// Of the limit.
constexpr std::uint64_t kNearPortLimit = 75;

Result<RuleAnswer> port_limit_rule(NodeFacts& facts) {
    const auto& node = facts.dump().node();
    if (!node.has_port_limit() || facts.dump().trailer().ports_offset_size() == 0) {
        return fail(ErrorCode::kNotFound,
                    "the dump does not tell how many ports the node may have, "
                    "or has no ports");
    }
    std::uint64_t ports = 0;
    for (const auto offset : facts.dump().trailer().ports_offset()) {
        ASSIGN_OR_RETURN(const auto page, facts.dump().reader().message_at<records::Ports>(
                                              offset, format::RecordKind::kPorts));
        ports += static_cast<std::uint64_t>(page.port_size());
    }
    const auto full = percent_of(ports, node.port_limit());
    RuleAnswer answer;
    if (full < kNearPortLimit) {
        return answer;
    }
    Finding finding;
    finding.sentence = fmt::format("The port table is {}% full ({} of {} ports).", full,
                                   count_text(ports), count_text(node.port_limit()));
    finding.command = facts.command("ports");
    finding.figures = {
        {"ports", ports}, {"port_limit", std::uint64_t{node.port_limit()}}, {"full_percent", full}};
    finding.values = {"ports.port"};
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
