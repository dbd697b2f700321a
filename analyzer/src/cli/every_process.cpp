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

}  // namespace beamdump::cli
