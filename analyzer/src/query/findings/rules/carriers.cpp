#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/memory/allocators.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace beamdump::query {

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
        finding.values = {"utilisation", "free_bytes", "carrier_bytes"};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
