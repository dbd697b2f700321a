#include "query/activity/ports.h"
#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

namespace {

/// Of ports without queued data: that of a process that has just exited is there for a moment.
constexpr std::uint64_t kManyEmpty = 10;

struct Ports {
    std::uint64_t count = 0;
    std::uint64_t queued_bytes = 0;

    void add(const PortState& port) {
        ++count;
        queued_bytes += port.queued_bytes;
    }
};

}  // namespace

/// A port is closed when its process exits; one that has data to send stays until they are sent
/// (io.c, terminate_port() and flush_port()). Without a process and not closing it should not be.
Result<RuleAnswer> orphaned_ports_rule(NodeFacts& facts) {
    Ports orphaned;
    Ports closing;
    RETURN_IF_ERROR(visit_ports(facts.dump(), facts.file(), [&](const PortState& port) {
        if (port.closing && port.queued_bytes > 0) {
            closing.add(port);
        } else if (!port.closing && port.orphaned.value_or(false)) {
            orphaned.add(port);
        }
    }));
    RuleAnswer answer;
    answer.left_out = facts.text_cut_off();
    if (orphaned.queued_bytes > 0 || orphaned.count >= kManyEmpty) {
        Finding finding;
        finding.sentence =
            fmt::format("{} {} of a process that does not exist, with {} queued.",
                        counted(orphaned.count, "port"), orphaned.count == 1 ? "is" : "are",
                        bytes_text(orphaned.queued_bytes));
        finding.command = facts.command("ports", {"--filter", "orphaned=true"});
        finding.figures = {{"ports", orphaned.count}, {"queued_bytes", orphaned.queued_bytes}};
        finding.values = {"ports.port", "ports.connected", "ports.queue"};
        answer.findings.push_back(std::move(finding));
    }
    if (closing.queued_bytes >= kLargeBytes) {
        Finding finding;
        finding.sentence =
            fmt::format("{} cannot close before {} of data are sent.",
                        counted(closing.count, "port"), bytes_text(closing.queued_bytes));
        finding.command = facts.command("ports", {"--filter", "closing=true", "--sort", "queue"});
        finding.figures = {{"ports", closing.count}, {"queued_bytes", closing.queued_bytes}};
        finding.values = {"ports.port", "ports.closing", "ports.queue"};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
