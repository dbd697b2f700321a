#include "query/activity/sockets.h"

#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace beamdump::query {

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

/// Of the sockets in CLOSE_WAIT: ", 120 of them of demo (<0.88.0>)"; empty where no port has them.
Result<std::string> owner_of_most(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto list, list_sockets(facts.dump(), facts.file(),
                                                   {.sort = "fd",
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
