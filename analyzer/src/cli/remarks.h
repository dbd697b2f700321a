#pragma once

#include "cli/command.h"
#include "query/process/opened_process.h"
#include "query/process/process_line.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace beamdump::cli {

/// Reports placeholders in the terms.
void report_placeholders(Invocation& invocation, std::uint64_t placeholders);

/// "<0.12.0> was running when it was captured", with `detail` if there is any.
std::string void_sentence(const query::ProcessLine& line, std::string_view detail = {});

/// The outcome of a listing of one process's terms.
template <typename Listing>
Outcome report_listing(Invocation& invocation, const Listing& listing, std::string_view what) {
    if (listing.withheld() == Withheld::kSensitive) {
        invocation.report(
            fmt::format("{} is flagged sensitive, so its {} withheld; --sensitive shows "
                        "them",
                        listing.line().pid, what));
    } else if (listing.withheld() == Withheld::kVoid) {
        invocation.report(
            fmt::format("{}: its {} not in the dump", void_sentence(listing.line()), what));
    }
    report_placeholders(invocation, listing.placeholders());
    return {listing.withheld() != Withheld::kNo || listing.placeholders() > 0};
}

}  // namespace beamdump::cli
