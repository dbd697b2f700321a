#include "cli/every_process.h"

#include <libdump/base/amount_text.h>

#include <fmt/format.h>

namespace beamdump::cli {

Outcome report_processes_read(Invocation& invocation, const query::ProcessesRead& counts) {
    if (counts.inconsistent != 0) {
        invocation.report(
            fmt::format("missing from the answer: the terms of {}, which the dump lacks",
                        counted(counts.inconsistent, "process", "processes")));
    }
    if (counts.sensitive != 0) {
        invocation.report(fmt::format(
            "missing from the answer: the terms of {} flagged sensitive; --sensitive includes them",
            counted(counts.sensitive, "process", "processes")));
    }
    return {!counts.complete()};
}

Outcome report_findings_left_out(Invocation& invocation, const query::Findings& findings) {
    Outcome outcome;
    for (const auto& rule : findings.left_out) {
        if (rule.damage) {
            invocation.report(
                fmt::format("missing from the findings: {}: {}", rule.id, rule.reason));
            outcome.incomplete = true;
        }
    }
    if (findings.read) {
        const Outcome read = report_processes_read(invocation, *findings.read);
        outcome.incomplete = outcome.incomplete || read.incomplete;
    }
    return outcome;
}

}  // namespace beamdump::cli
