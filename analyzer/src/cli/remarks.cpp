#include "cli/remarks.h"

#include "render/shared/table.h"
#include "render/shared/void_text.h"

#include <libdump/base/amount_text.h>

namespace beamdump::cli {

void report_placeholders(Invocation& invocation, std::uint64_t placeholders) {
    if (placeholders > 0) {
        invocation.report(counted(placeholders, "placeholder") +
                          (placeholders == 1 ? " marks" : " mark") +
                          " unavailable data in the terms");
    }
}

std::string void_sentence(const query::ProcessLine& line, std::string_view detail) {
    return fmt::format("{} {}{}{}", line.pid, render::void_clause(line.void_reason.value_or("")),
                       detail.empty() ? "" : ": ", render::one_line(detail));
}

}  // namespace beamdump::cli
