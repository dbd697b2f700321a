#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/memory/memory.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>

#include <fmt/format.h>

#include <utility>

namespace beamdump::query {

namespace {

/// Of the limit: the kernel takes back page cache before, and ends a process after it.
constexpr std::uint64_t kNearLimit = 90;

}  // namespace

/// Limits of the node's container and of what is around it.
Result<RuleAnswer> cgroup_memory_rule(NodeFacts& facts) {
    RuleAnswer answer;
    if (is_of_crash_dump(facts.dump())) {
        return answer;  // its node has ended
    }
    ASSIGN_OR_RETURN(const auto* memory, facts.memory());
    const auto cgroups = cgroup_lines(memory->system);
    // A capture that knows of LazyFree has looked for cgroups, too: there are none to see.
    if (cgroups.empty() && !memory->system.has_lazy_free_bytes()) {
        return fail(ErrorCode::kNotFound, "the dump has no memory cgroups");
    }
    // One above another has the kills of both.
    bool kills_told = false;
    for (const auto& cgroup : cgroups) {
        const auto used = cgroup.working_set_bytes.value_or(cgroup.used_bytes.value_or(0));
        if (cgroup.limit_bytes && percent_of(used, *cgroup.limit_bytes) >= kNearLimit) {
            Finding finding;
            finding.sentence = fmt::format(
                "The memory cgroup {} is {}% full (working set {} of {}); when it is full, the OOM "
                "killer ends a process.",
                cgroup.name, percent_of(used, *cgroup.limit_bytes), bytes_text(used),
                bytes_text(*cgroup.limit_bytes));
            finding.command = facts.command("memory");
            finding.figures = {{"working_set_bytes", used},
                               {"limit_bytes", *cgroup.limit_bytes},
                               {"cgroup", cgroup.name}};
            answer.findings.push_back(std::move(finding));
        }
        if (cgroup.limit_bytes && cgroup.oom_kills.value_or(0) != 0 &&
            !std::exchange(kills_told, true)) {
            Finding finding;
            finding.sentence =
                fmt::format("The OOM killer has ended {} in the memory cgroup {}.",
                            counted(*cgroup.oom_kills, "process", "processes"), cgroup.name);
            finding.command = facts.command("memory");
            finding.figures = {{"oom_kills", *cgroup.oom_kills}, {"cgroup", cgroup.name}};
            answer.findings.push_back(std::move(finding));
        }
    }
    return answer;
}

}  // namespace beamdump::query
