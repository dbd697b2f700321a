#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>

#include <fmt/format.h>

namespace beamdump::query {

namespace {

/// Of the resident memory: less does not look like a leak.
constexpr std::uint64_t kMuch = 25;

}  // namespace

/// Allocators give memory back by MADV_FREE (erl_mmap.h, OTP 25 to 29): it counts as
/// resident until the kernel needs it, which looks like a leak.
Result<RuleAnswer> lazy_free_rule(NodeFacts& facts) {
    RuleAnswer answer;
    if (is_of_crash_dump(facts.dump())) {
        return answer;  // its node has ended
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
