#include "query/memory/memory.h"

#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/holders/binaries.h"
#include "query/memory/allocators.h"
#include "query/process/every_process.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

// Rules about memory outside of processes and tables: binaries, carriers, limits of the container.

namespace beamdump::query {

namespace {

/// Percent of the limit: the kernel takes back page cache before, and ends a process after it.
constexpr std::uint64_t kNearLimit = 90;

}  // namespace

/// Limits of the node's container and of what is around it.
Result<RuleAnswer> cgroup_memory_rule(NodeFacts& facts) {
    RuleAnswer answer;
    if (!form_of(facts.dump()).system_process) {
        return answer;  // the node has ended
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

namespace {

/// As much as everything else.
constexpr std::uint64_t kMostOfTheNode = 50;
constexpr std::uint64_t kMostOfTheBinaries = 50;

/// A process, and the bytes of the binaries that it keeps, as the VM counts them for its
/// collections (erl_process.h, off_heap.overhead and bin_old_vheap): at the last one, and since.
struct Holder {
    std::uint64_t bytes = 0;
    ProcessLine line;
};

struct Holders {
    Holder most;
    /// Of all processes; a binary that several keep counts for each. nullopt: the dump does not
    /// tell it of each of them.
    std::optional<std::uint64_t> all_bytes;
};

/// Of all processes, void ones too. nullopt: there are too many to read each.
Result<std::optional<Holders>> holders_of_binaries(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    if (scan->processes > facts.options().most_callers) {
        return std::nullopt;
    }
    Holders holders;
    std::uint64_t all_bytes = 0;
    bool each_told = true;
    const auto add = [&](const records::Process& told, const auto& line_of) {
        const auto bytes =
            kWordBytes * (told.off_heap_overhead_words() + told.old_binary_virtual_heap_words());
        each_told = each_told && told.has_off_heap_overhead_words() &&
                    told.has_old_binary_virtual_heap_words();
        all_bytes += bytes;
        if (bytes > holders.most.bytes) {
            holders.most = {bytes, line_of()};
        }
    };
    // How much they keep is no content of them, and is known of those whose terms are void.
    EveryProcessOptions options{.sensitive = true};
    options.withheld = [&](const records::ProcessRow& row) -> Result<void> {
        const auto run = ProcessRun::load(facts.dump().reader(), row);
        each_told = each_told && run;
        if (run) {
            add(run->process, [&] { return process_line(facts.dump(), row); });
        }
        return {};
    };
    RETURN_IF_ERROR(
        visit_processes(facts.dump(), options, [&](OpenedProcess& process) -> Result<void> {
            add(process.run.process, [&] { return process.line; });
            return {};
        }));
    if (each_told) {
        holders.all_bytes = all_bytes;
    }
    return holders;
}

/// Who keeps the binaries: one process that keeps most of them, or that processes do not. A crash
/// dump has no binaries but those of processes.
std::string holders_text(const Holders& holders, std::uint64_t all_bytes, bool of_crash_dump) {
    if (percent_of(holders.most.bytes, all_bytes) >= kMostOfTheBinaries) {
        return fmt::format(", of which {} keeps about {}", process_with_name(holders.most.line),
                           bytes_text(holders.most.bytes));
    }
    if (of_crash_dump || !holders.all_bytes ||
        percent_of(*holders.all_bytes, all_bytes) >= kMostOfTheBinaries) {
        return {};
    }
    return fmt::format(
        ", of which processes keep {}: rows of tables, messages that wait, ports or native code "
        "keep the others",
        *holders.all_bytes == 0 ? std::string("none")
                                : fmt::format("about {}", bytes_text(*holders.all_bytes)));
}

/// erlang:memory(binary) counts all binaries. A crash dump has those that live terms of processes
/// refer to (erl_process_dump.c, OTP 25 to 29), a capture without heaps has none.
Result<std::optional<Finding>> binaries_not_in_dump(NodeFacts& facts, std::uint64_t node_bytes) {
    const auto& totals = facts.dump().trailer().totals();
    ASSIGN_OR_RETURN(const auto* memory, facts.memory());
    const auto category = std::ranges::find(memory->categories, "binary",
                                            &std::pair<std::string, std::uint64_t>::first);
    const std::uint64_t bytes = category == memory->categories.end() ? 0 : category->second;
    const auto share = percent_of(bytes, node_bytes);
    if (bytes < kLargeBytes || share < kMostOfTheNode) {
        return std::nullopt;
    }
    const bool of_crash_dump = is_of_crash_dump(facts.dump());
    std::optional<Holders> holders;
    if (!of_crash_dump) {
        ASSIGN_OR_RETURN(holders, holders_of_binaries(facts));
    }
    const auto kept_by = holders ? holders_text(*holders, bytes, false) : std::string();
    const auto rest =
        of_crash_dump
            ? fmt::format(
                  "The crash dump has those that live terms of processes refer to{}; terms "
                  "that wait for a garbage collection, rows of tables, ports and native "
                  "code keep the others.",
                  totals.has_binary_bytes() ? fmt::format(", {}", bytes_text(totals.binary_bytes()))
                                            : std::string())
        : kept_by.empty()
            ? std::string("Most are not in this dump; a capture with heaps tells who keeps them.")
            : std::string("Most are not in this dump.");
    Finding finding;
    finding.sentence =
        fmt::format("{}% of the node's memory ({} of {}) is binaries, as the node counted it{}. {}",
                    share, bytes_text(bytes), bytes_text(node_bytes), kept_by, rest);
    finding.command = facts.command("memory");
    finding.figures = {
        {"memory_bytes", bytes}, {"all_memory_bytes", node_bytes}, {"share_percent", share}};
    return finding;
}

}  // namespace

Result<RuleAnswer> binary_memory_rule(NodeFacts& facts) {
    const auto& totals = facts.dump().trailer().totals();
    ASSIGN_OR_RETURN(const auto node_bytes, facts.node_bytes());
    RuleAnswer answer;
    const auto bytes = totals.binary_bytes();
    const auto share = percent_of(bytes, node_bytes);
    if (bytes < kLargeBytes || share < kMostOfTheNode) {
        ASSIGN_OR_RETURN(auto missing, binaries_not_in_dump(facts, node_bytes));
        if (missing) {
            answer.findings.push_back(std::move(*missing));
        } else if (!totals.has_binary_bytes() || !totals.has_binaries()) {
            return fail(ErrorCode::kNotFound, "the dump does not tell the size of all binaries");
        }
        return answer;
    }
    ASSIGN_OR_RETURN(const auto holders, holders_of_binaries(facts));
    const bool of_crash_dump = is_of_crash_dump(facts.dump());
    Finding finding;
    finding.sentence = fmt::format(
        "{}% of the node's memory ({} of {}) is {}{}.", share, bytes_text(bytes),
        bytes_text(node_bytes),
        counted(totals.binaries(), "reference-counted binary", "reference-counted binaries"),
        holders ? holders_text(*holders, bytes, of_crash_dump) : std::string());
    // Where no process keeps most of them, it is a table, or many processes.
    finding.command =
        of_crash_dump ? facts.command("binaries") : facts.command("binaries", {"--leaks"});
    finding.figures = {{"memory_bytes", bytes},
                       {"all_memory_bytes", node_bytes},
                       {"share_percent", share},
                       {"binaries", totals.binaries()}};
    answer.findings.push_back(std::move(finding));
    return answer;
}

namespace {

/// Percent of the binaries that terms show a part of: the rest is three times as much.
constexpr std::uint64_t kLittleShown = 25;
/// Processes whose sums are told.
constexpr std::uint64_t kMostHolders = 1000;

}  // namespace

Result<RuleAnswer> pinned_binaries_rule(NodeFacts& facts) {
    const auto& totals = facts.dump().trailer().totals();
    RuleAnswer answer;
    if (totals.has_binary_bytes() && totals.binary_bytes() < kLargeBytes) {
        return answer;
    }
    if (!facts.full()) {
        answer.left_to_full = true;
        answer.left_out = "reads the terms of all processes that hold binaries";
        return answer;
    }
    BinariesOptions query;
    query.limit = kMostHolders;
    query.limits = facts.options().limits;
    query.progress = facts.options().progress;
    ASSIGN_OR_RETURN(const auto leaks, binary_leaks(facts.dump(), facts.file(), query));
    facts.tell_read(leaks.read);
    std::uint64_t binaries = 0;
    std::uint64_t kept = 0;
    std::uint64_t pinned = 0;
    for (const auto& leak : leaks.owners) {
        binaries += leak.partial_binaries;
        kept += leak.partial_bytes;
        pinned += leak.pinned_bytes;
    }
    const auto shown = percent_of(kept - pinned, kept);
    if (pinned < kLargeBytes || shown > kLittleShown) {
        return answer;
    }
    const auto& most = leaks.owners.front();
    const auto holder = holder_name(most.owner);
    Finding finding;
    finding.sentence = fmt::format("{} ({}) {} kept by terms that show {}% of them, most by {}.",
                                   counted(binaries, "binary", "binaries"), bytes_text(kept),
                                   binaries == 1 ? "is" : "are", shown,
                                   holder.empty() ? process_with_name(most.owner.process) : holder);
    finding.command = facts.command("binaries", {"--leaks"});
    finding.figures = {
        {"binaries", binaries},
        {"kept_bytes", kept},
        {"pinned_bytes", pinned},
        {"shown_percent", shown},
        holder.empty() ? Figure{"process", most.owner.process.pid} : Figure{"holder", holder}};
    answer.findings.push_back(std::move(finding));
    return answer;
}

namespace {

/// After a peak carriers stay that have a few blocks each. Carriers of a small node are half empty
/// by nature: one a scheduler and allocator, of up to 8 MiB.
constexpr std::uint64_t kLittleUsed = 600;  // tenths of a percent
constexpr std::uint64_t kMuchFree = 128UL << 20U;

}  // namespace

Result<RuleAnswer> carriers_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* memory, facts.memory());
    auto lines = allocator_lines(*memory, false);
    if (lines.empty()) {
        return fail(ErrorCode::kNotFound, "the dump has no allocators");
    }
    std::erase_if(lines, [](const AllocatorLine& line) {
        return line.free_bytes() < kMuchFree || line.utilisation().value_or(1000) >= kLittleUsed;
    });
    std::ranges::stable_sort(lines, std::greater(), &AllocatorLine::free_bytes);
    lines.resize(std::min<std::size_t>(lines.size(), kMostOfARule));
    RuleAnswer answer;
    for (const auto& line : lines) {
        const auto used = percent_of(line.block_bytes, line.carrier_bytes);
        Finding finding;
        finding.sentence =
            fmt::format("{}% utilisation of {} carriers: {} of {} are free.", used, line.name,
                        bytes_text(line.free_bytes()), bytes_text(line.carrier_bytes));
        finding.command = facts.command("allocators");
        finding.figures = {{"used_percent", used},
                           {"free_bytes", line.free_bytes()},
                           {"carrier_bytes", line.carrier_bytes},
                           {"allocator", line.name}};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

namespace {

/// Percent of the resident memory: less does not look like a leak.
constexpr std::uint64_t kMuch = 25;

}  // namespace

/// Allocators give memory back by MADV_FREE (erl_mmap.h, OTP 25 to 29): it counts as
/// resident until the kernel needs it, which looks like a leak.
Result<RuleAnswer> lazy_free_rule(NodeFacts& facts) {
    RuleAnswer answer;
    if (!form_of(facts.dump()).system_process) {
        return answer;  // the node has ended
    }
    ASSIGN_OR_RETURN(const auto* memory, facts.memory());
    const auto& system = memory->system;
    if (!system.has_lazy_free_bytes() || !system.has_resident_bytes()) {
        return fail(ErrorCode::kNotFound, "the dump does not tell LazyFree memory");
    }
    const auto share = percent_of(system.lazy_free_bytes(), system.resident_bytes());
    if (system.lazy_free_bytes() < kLargeBytes || share < kMuch) {
        return answer;
    }
    Finding finding;
    finding.sentence = fmt::format(
        "{} of {} of resident memory ({}%) were given back and stay until the kernel needs them "
        "(LazyFree): no leak.",
        bytes_text(system.lazy_free_bytes()), bytes_text(system.resident_bytes()), share);
    finding.command = facts.command("memory");
    finding.figures = {{"lazy_free_bytes", std::uint64_t{system.lazy_free_bytes()}},
                       {"resident_bytes", std::uint64_t{system.resident_bytes()}},
                       {"share_percent", share}};
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
