#include "cli/report.h"

#include "cli/progress.h"

#include <libdump/base/terminal_text.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

namespace beamdump::cli {
namespace {

std::string_view reason_text(int reason) {
    switch (reason) {
        case records::VOID_REASON_RUNNING:
            return "running";
        case records::VOID_REASON_COLLECTING:
            return "collecting garbage";
        case records::VOID_REASON_EXITING:
            return "exiting";
        case records::VOID_REASON_LOCKED:
            return "locked";
        case records::VOID_REASON_CHANGED:
            return "changed while copied";
        case records::VOID_REASON_UNREADABLE:
            return "unreadable";
        case records::VOID_REASON_LEFT_OUT:
            return "not selected";
        case records::VOID_REASON_IMPLAUSIBLE:
            return "implausible";
        case records::VOID_REASON_LIMIT:
            return "skipped: time or size limit";
        default:
            return "for another reason";
    }
}

std::string void_text(const records::Totals& totals) {
    if (totals.processes_void() == 0) {
        return "all consistent";
    }
    std::vector<std::string> reasons;
    for (int reason = 1; reason < totals.void_by_reason_size(); ++reason) {
        if (totals.void_by_reason(reason) > 0) {
            reasons.push_back(
                fmt::format("{} {}", totals.void_by_reason(reason), reason_text(reason)));
        }
    }
    return fmt::format("{} without memory{}{}", totals.processes_void(),
                       reasons.empty() ? "" : ": ", fmt::join(reasons, ", "));
}

std::string milliseconds(std::int64_t ns) {
    return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6);
}

std::string stop_text(const records::CaptureCost& cost) {
    if (!cost.has_total_stopped_ns()) {
        return "it is unknown how long the node was stopped";
    }
    if (cost.stop_size() == 0) {
        return "the node was not stopped";
    }
    const auto total = milliseconds(cost.total_stopped_ns());
    return cost.stop_size() > 1
               ? fmt::format("the node was stopped {} times, {} in total, {} at the longest",
                             cost.stop_size(), total, milliseconds(cost.longest_stop_ns()))
               : fmt::format("the node was stopped for {}", total);
}

}  // namespace

std::string report_text(const capture::CaptureReport& report, const std::string& output) {
    auto text = fmt::format(
        "node {} (OTP {}): {} processes, {}\n",
        report.node_name.empty() ? "without a name" : one_line(report.node_name),
        one_line(report.otp_release), report.totals.processes(), void_text(report.totals));
    text += fmt::format("{} read, {} written to {}; {}\n", bytes_text(report.cost.bytes_read()),
                        bytes_text(report.written.file_bytes), one_line(output),
                        stop_text(report.cost));
    return text;
}

bool incomplete(const capture::CaptureReport& report) {
    const auto& reasons = report.totals.void_by_reason();
    const auto asked_for = reasons.size() > records::VOID_REASON_LEFT_OUT
                               ? reasons.Get(records::VOID_REASON_LEFT_OUT)
                               : 0;
    return report.cut_off || report.totals.processes_void() > asked_for;
}

}  // namespace beamdump::cli
