#include "query/activity/ports.h"

#include "query/activity/nodes.h"
#include "query/activity/sockets.h"
#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

// Rules about ports, connections and sockets.

namespace beamdump::query {

namespace {

/// A port is busy for a moment whenever much is sent.
constexpr std::uint64_t kManySuspended = 10;

/// Busy ports without those of connections.
struct BusyPorts {
    std::uint64_t count = 0;
    /// Processes that wait for them; nullopt: of some it is not known.
    std::optional<std::uint64_t> waiting = 0;
    PortState first;  ///< for which most wait, or in which most is queued

    void add_if_busy(const PortState& port) {
        if (!port.busy || port.distribution) {
            return;
        }
        const auto rank = [](const PortState& one) {
            return std::tuple(one.suspended.value_or(0), one.queued_bytes);
        };
        if (count == 0 || rank(port) > rank(first)) {
            first = port;
        }
        waiting =
            waiting && port.suspended ? std::optional(*waiting + *port.suspended) : std::nullopt;
        ++count;
    }
};

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
    BusyPorts busy;
    RETURN_IF_ERROR(
        visit_ports(facts.dump(), [&](const PortState& port) { busy.add_if_busy(port); }));
    if (busy.count == 0 || busy.waiting.value_or(kManySuspended) < kManySuspended) {
        return answer;
    }
    const auto name = busy.first.name.empty() ? "name unknown" : busy.first.name;
    const auto queued = bytes_text(busy.first.queued_bytes);
    Finding finding;
    if (busy.waiting) {
        finding.sentence = fmt::format(
            "{} processes are suspended, as they sent to {}: {} to {} ({}), in which {} {} queued.",
            count_text(*busy.waiting),
            busy.count == 1 ? "a busy port" : count_text(busy.count) + " busy ports",
            count_text(busy.first.suspended.value_or(0)), busy.first.port, name, queued,
            busy.first.queued_bytes == 1 ? "is" : "are");
    } else {
        finding.sentence = fmt::format(
            "{} processes are suspended, and {} busy: who sends to such a port waits; most is "
            "queued in {} ({}), {}.",
            count_text(suspended->second),
            busy.count == 1 ? "1 port is" : count_text(busy.count) + " ports are", busy.first.port,
            name, queued);
    }
    finding.command = facts.command("ports", {"--filter", "busy=true"});
    finding.figures = {{"suspended", busy.waiting.value_or(suspended->second)},
                       {"busy_ports", busy.count},
                       {"queued_bytes", busy.first.queued_bytes},
                       {"port", busy.first.port}};
    answer.findings.push_back(std::move(finding));
    return answer;
}

namespace {

/// So many ports without queued data: that of a process that has just exited is there for a moment.
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
    RETURN_IF_ERROR(visit_ports(facts.dump(), [&](const PortState& port) {
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
        answer.findings.push_back(std::move(finding));
    }
    if (closing.queued_bytes >= kLargeBytes) {
        Finding finding;
        finding.sentence =
            fmt::format("{} cannot close before {} of data are sent.",
                        counted(closing.count, "port"), bytes_text(closing.queued_bytes));
        finding.command = facts.command("ports", {"--filter", "closing=true", "--sort", "queue"});
        finding.figures = {{"ports", closing.count}, {"queued_bytes", closing.queued_bytes}};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

namespace {

struct Busy {
    std::string node;
    std::uint64_t queued_bytes = 0, suspended = 0;
};

}  // namespace

/// Connections that are so busy that processes wait: their node reads too slowly, or the network is
/// slow.
Result<RuleAnswer> busy_connection_rule(NodeFacts& facts) {
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
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

namespace {

/// A socket is in CLOSE_WAIT for as long as its process needs to close it: some ms.
constexpr std::uint64_t kManyNotClosed = 100;
/// Connections that wait to be accepted: the backlog is 5 by default, 1,024 in web servers.
constexpr std::uint64_t kManyNotAccepted = 100;

struct SocketSums {
    std::uint64_t close_wait = 0;
    std::uint64_t unread = 0;  ///< bytes
    std::uint64_t unsent = 0;
    std::uint64_t most_waiting = 0;
    std::string listener;  ///< of these

    void add(const records::Socket& socket) {
        close_wait += socket.state() == "CLOSE_WAIT" ? 1 : 0;
        unread += socket.receive_queue_bytes();
        unsent += socket.send_queue_bytes();
        if (socket.waiting() > most_waiting) {
            most_waiting = socket.waiting();
            listener = socket.local();
        }
    }
};

/// Who has most of the sockets in CLOSE_WAIT: ", 120 of them of demo (<0.88.0>)"; empty where no
/// port has them.
Result<std::string> owner_of_most(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto list, list_sockets(facts.dump(), {.sort = "fd",
                                                                  .filters = {"state=CLOSE_WAIT"},
                                                                  .limit = 1,
                                                                  .counted_by = "connected"}));
    const auto most =
        std::ranges::max_element(list.counts(), {}, [](const auto& owner) { return owner.second; });
    return most == list.counts().end() || most->first.empty()
               ? std::string()
               : fmt::format(", {} of them of {}", count_text(most->second),
                             facts.named(most->first));
}

}  // namespace

/// What the kernel tells of the node's sockets.
Result<RuleAnswer> sockets_rule(NodeFacts& facts) {
    const auto& offsets = facts.dump().trailer().sockets_offset();
    if (offsets.empty()) {
        return fail(ErrorCode::kNotFound, "the dump has no sockets");
    }
    SocketSums sums;
    for (const auto offset : offsets) {
        ASSIGN_OR_RETURN(const auto page, facts.dump().reader().message_at<records::Sockets>(
                                              offset, format::RecordKind::kSockets));
        for (const auto& socket : page.socket()) {
            sums.add(socket);
        }
    }
    RuleAnswer answer;
    const auto add = [&](std::string sentence, std::initializer_list<std::string_view> words,
                         Figure figure) {
        Finding finding;
        finding.sentence = std::move(sentence);
        finding.command = facts.command("sockets", words);
        finding.figures = {std::move(figure)};
        answer.findings.push_back(std::move(finding));
    };
    if (sums.close_wait >= kManyNotClosed) {
        ASSIGN_OR_RETURN(const auto owner, owner_of_most(facts));
        add(fmt::format("{} sockets are in CLOSE_WAIT: the other side has closed them, and the "
                        "node has not{}.",
                        count_text(sums.close_wait), owner),
            {"--filter", "state=CLOSE_WAIT"}, {"close_wait", sums.close_wait});
    }
    if (sums.most_waiting >= kManyNotAccepted) {
        add(fmt::format("{} connections wait to be accepted at {}.", count_text(sums.most_waiting),
                        sums.listener),
            {"--sort", "waiting"}, {"not_accepted", sums.most_waiting});
    }
    if (sums.unread >= kLargeBytes) {
        add(fmt::format("{} have arrived in sockets, and the node has not read them.",
                        bytes_text(sums.unread)),
            {"--sort", "receive_queue"}, {"unread_bytes", sums.unread});
    }
    if (sums.unsent >= kLargeBytes) {
        add(fmt::format("{} were sent to sockets, and the other sides have not taken them.",
                        bytes_text(sums.unsent)),
            {"--sort", "send_queue"}, {"unsent_bytes", sums.unsent});
    }
    return answer;
}

}  // namespace beamdump::query
