#include "cli/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::cli {
namespace {

capture::CaptureReport whole() {
    capture::CaptureReport report;
    report.node_name = "shop@host";
    report.otp_release = "25";
    report.totals.set_processes(411);
    report.totals.set_processes_void(0);
    report.cost.set_bytes_read(3U << 20U);
    report.cost.set_total_stopped_ns(12'345'678);
    report.cost.set_longest_stop_ns(12'345'678);
    report.cost.add_stop();
    report.written.file_bytes = 512U << 10U;
    return report;
}

TEST(Report, HasTheCostOfAWholeCapture) {
    EXPECT_EQ(
        report_text(whole(), "shop.beamdump"),
        "node shop@host (OTP 25): 411 processes, all consistent\n"
        "3.0 MiB read, 512.0 KiB written to shop.beamdump; the node was stopped for 12.3 ms\n");
    EXPECT_FALSE(incomplete(whole()));
}

TEST(Report, EscapesNames) {
    auto report = whole();
    report.node_name = "shop\x1B@host\nnode";
    const auto text = report_text(report, "out\a.beamdump");
    EXPECT_THAT(text, ::testing::StartsWith("node shop\\x1B@host\\x0Anode (OTP 25)"));
    EXPECT_THAT(text, ::testing::HasSubstr("written to out\\x07.beamdump;"));
}

TEST(Report, CountsVoidProcessesByReason) {
    auto report = whole();
    report.totals.set_processes_void(3);
    for (const auto count : {0, 2, 0, 0, 1}) {
        report.totals.add_void_by_reason(static_cast<std::uint64_t>(count));
    }
    EXPECT_THAT(report_text(report, "-"),
                ::testing::HasSubstr("411 processes, 3 without memory: 2 running, 1 locked"));
    EXPECT_TRUE(incomplete(report));
}

TEST(Report, AnExcludedPartIsNotMissing) {
    auto report = whole();
    report.totals.set_processes_void(9);
    for (int reason = 0; reason <= records::VOID_REASON_LEFT_OUT; ++reason) {
        report.totals.add_void_by_reason(reason == records::VOID_REASON_LEFT_OUT ? 9 : 0);
    }
    EXPECT_FALSE(incomplete(report));
    report.totals.set_processes_void(10);
    EXPECT_TRUE(incomplete(report));
}

TEST(Report, WithoutAStop) {
    auto report = whole();
    report.cost.clear_stop();
    EXPECT_THAT(report_text(report, "-"), ::testing::HasSubstr("the node was not stopped"));
}

TEST(Report, ReasonsThisVersionDoesNotKnow) {
    auto report = whole();
    report.totals.set_processes_void(1);
    for (int reason = 0; reason < 30; ++reason) {
        report.totals.add_void_by_reason(reason == 29 ? 1 : 0);
    }
    EXPECT_THAT(report_text(report, "-"), ::testing::HasSubstr("1 for another reason"));
}

TEST(Report, SeveralStopsAndWhatIsNotKnown) {
    auto report = whole();
    report.cost.add_stop();
    report.cost.set_total_stopped_ns(20'000'000);
    EXPECT_THAT(report_text(report, "-"),
                ::testing::HasSubstr("stopped 2 times, 20.0 ms in total, 12.3 ms at the longest"));
    report.cost.clear_total_stopped_ns();
    report.node_name.clear();
    EXPECT_THAT(report_text(report, "-"),
                ::testing::AllOf(::testing::HasSubstr("node without a name"),
                                 ::testing::HasSubstr("it is unknown how long")));
}

}  // namespace
}  // namespace beamdump::cli
