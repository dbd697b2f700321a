#include "query/activity/timers.h"
#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace beamdump::query {

namespace {

/// A name may be unregistered for a moment, while its process is restarted.
constexpr std::uint64_t kManyForName = 1000;
/// Timers that are set again before they are cancelled; a server with a timer for each of many
/// connections has fewer.
constexpr std::uint64_t kManyOfOneReceiver = 100'000;

struct Receiver {
    std::uint64_t timers = 0;
    bool orphaned = false;
    bool is_pid = false;
    /// A process's timers are cancelled when it exits (erl_process.c,
    /// erts_continue_exit_process()): one for a pid that no process has should not be there.
    [[nodiscard]] bool deserves_a_look() const {
        const std::uint64_t many = !orphaned ? kManyOfOneReceiver : is_pid ? 1 : kManyForName;
        return timers >= many;
    }
};
using ReceiverEntry = std::pair<std::string, Receiver>;

}  // namespace

Result<RuleAnswer> orphaned_timers_rule(NodeFacts& facts) {
    std::unordered_map<std::string, Receiver> receivers;
    std::uint64_t all = 0;
    RETURN_IF_ERROR(
        visit_message_timers(facts.dump(), facts.file(), [&](const MessageTimer& timer) {
            auto& receiver = receivers[std::string(timer.receiver)];
            ++receiver.timers;
            receiver.orphaned = timer.orphaned.value_or(false);
            receiver.is_pid = timer.receiver.starts_with('<');
            ++all;
        }));
    std::vector<ReceiverEntry> worst;
    for (const auto& entry : receivers) {
        if (entry.second.deserves_a_look()) {
            worst.emplace_back(entry);
        }
    }
    std::ranges::sort(worst, [](const ReceiverEntry& one, const ReceiverEntry& other) {
        return std::tuple(other.second.timers, one.first) <
               std::tuple(one.second.timers, other.first);
    });
    worst.resize(std::min<std::size_t>(worst.size(), kMostOfARule));
    RuleAnswer answer;
    answer.left_out = facts.text_cut_off();
    for (const auto& [name, receiver] : worst) {
        Finding finding;
        finding.sentence =
            receiver.orphaned
                ? fmt::format(
                      "{} of {} {} to send a message to {}, {}.", count_text(receiver.timers),
                      counted(all, "message timer"), receiver.timers == 1 ? "waits" : "wait", name,
                      receiver.is_pid ? "which does not exist" : "a name that no process has")
                : fmt::format("{} of {} are for one receiver, {}.", count_text(receiver.timers),
                              counted(all, "message timer"), facts.named(name));
        finding.command = facts.command("timers", {"--filter", "receiver=" + name});
        finding.figures = {{"timers", receiver.timers}, {"all_timers", all}, {"receiver", name}};
        finding.values = {"timers.kind", "timers.receiver", "timers.orphaned"};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
