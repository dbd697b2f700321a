#include "threads/thread_kind.h"

#include <libdump/base/decimal.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

namespace beamdump::sampler {
namespace {

struct Form {
    ThreadKind kind;
    std::string_view before, after;  // of the number
};

constexpr std::array kNumbered = {
    Form{ThreadKind::kAux, "", "_aux"},     Form{ThreadKind::kAux, "erts_aux_", ""},
    Form{ThreadKind::kPoll, "", "_poller"}, Form{ThreadKind::kPoll, "erts_poll_", ""},
    Form{ThreadKind::kAsync, "async_", ""}, Form{ThreadKind::kAsync, "erts_async_", ""},
};

struct Name {
    ThreadKind kind;
    std::string_view name;
};

constexpr std::array kNames = {
    Name{ThreadKind::kSignals, "sys_sig_dispatc"},   Name{ThreadKind::kSignals, "erts_ssig_disp"},
    Name{ThreadKind::kMessages, "sys_msg_dispatc"},  Name{ThreadKind::kMessages, "erts_smsg_disp"},
    Name{ThreadKind::kRunQueues, "runq_supervisor"}, Name{ThreadKind::kRunQueues, "erts_runq_sup"},
};

std::optional<std::uint32_t> number_in(const Form& form, std::string_view name) {
    if (!name.starts_with(form.before) || !name.ends_with(form.after) ||
        name.size() < form.before.size() + form.after.size()) {
        return std::nullopt;
    }
    name.remove_prefix(form.before.size());
    name.remove_suffix(form.after.size());
    const auto number = decimal_number(name);
    return number && *number <= UINT32_MAX ? std::optional(static_cast<std::uint32_t>(*number))
                                           : std::nullopt;
}

}  // namespace

std::string_view thread_kind_name(ThreadKind kind) {
    switch (kind) {
        case ThreadKind::kMain:
            return "main";
        case ThreadKind::kScheduler:
            return "scheduler";
        case ThreadKind::kDirtyCpu:
            return "dirty_cpu";
        case ThreadKind::kDirtyIo:
            return "dirty_io";
        case ThreadKind::kAux:
            return "aux";
        case ThreadKind::kPoll:
            return "poll";
        case ThreadKind::kAsync:
            return "async";
        case ThreadKind::kSignals:
            return "signals";
        case ThreadKind::kMessages:
            return "messages";
        case ThreadKind::kRunQueues:
            return "run_queues";
        case ThreadKind::kOther:
            break;
    }
    return "other";
}

ThreadRole role_of_name(std::string_view name) {
    if (const auto [kind, number] = scheduler_of_thread(name); number != 0) {
        switch (kind) {
            case records::SCHEDULER_KIND_DIRTY_CPU:
                return {ThreadKind::kDirtyCpu, number};
            case records::SCHEDULER_KIND_DIRTY_IO:
                return {ThreadKind::kDirtyIo, number};
            default:
                return {ThreadKind::kScheduler, number};
        }
    }
    for (const auto& form : kNumbered) {
        if (const auto number = number_in(form, name)) {
            return {form.kind, *number};
        }
    }
    const auto* named = std::ranges::find(kNames, name, &Name::name);
    return named == kNames.end() ? ThreadRole{} : ThreadRole{named->kind, 0};
}

std::map<pid_t, ThreadRole> roles_of(pid_t pid, std::span<const NodeThread> threads) {
    std::vector<NodeThread> sorted(threads.begin(), threads.end());
    std::ranges::sort(sorted, {}, &NodeThread::id);
    std::map<pid_t, ThreadRole> roles;
    std::set<ThreadRole> taken;
    for (const auto& thread : sorted) {
        auto role = thread.id == pid ? ThreadRole{ThreadKind::kMain, 0} : role_of_name(thread.name);
        if (!taken.insert(role).second) {
            role = {};
        }
        roles.emplace(thread.id, role);
    }
    return roles;
}

}  // namespace beamdump::sampler
