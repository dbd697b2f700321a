#include <libdump/format/process_flags.h>
#include <libdump/format/process_row.h>
#include <libdump/model/signals.h>

#include <gtest/gtest.h>

namespace beamdump {
namespace {

constexpr std::uint32_t kSuspended = 1U << 16U;
constexpr std::uint32_t kBit12 = 1U << 12U;

TEST(ProcessFlags, AreCalledAsTheReleaseCallsThem) {
    EXPECT_EQ(flag_names(FlagWord::kState, kBit12 | kSuspended, 25), "MAYBE_SELF_SIGS | SUSPENDED");
    EXPECT_EQ(flag_names(FlagWord::kState, kBit12 | kSuspended, 27), "MSG_SIG_IN_Q | SUSPENDED");
    EXPECT_EQ(flag_names(FlagWord::kSignalQueue, kBit12, 27), "MON_MSGQ_LEN");
    EXPECT_EQ(flag_names(FlagWord::kSignalQueue, kBit12, 29), "MON_MSGQ_LEN_HIGH");
    EXPECT_EQ(flag_names(FlagWord::kProcess, 1U << 22U, 25), "TRAP_EXIT");
}

TEST(ProcessFlags, OneWithoutANameIsItsNumber) {
    EXPECT_EQ(flag_names(FlagWord::kState, std::uint64_t{1} << 31U, 27), "BIT_31");
    EXPECT_EQ(flag_names(FlagWord::kState, kBit12 | kSuspended, 0), "BIT_12 | SUSPENDED");
    // What 28 calls it was not read.
    EXPECT_EQ(flag_names(FlagWord::kSignalQueue, kBit12, 28), "BIT_12");
    EXPECT_EQ(flag_names(FlagWord::kSignalQueue, 0, 28), "");
}

TEST(ProcessFlags, PrioritiesAreNoFlags) {
    EXPECT_EQ(flag_names(FlagWord::kState, 0x3f, 27), "");
}

TEST(ProcessFlags, AreReadFromTheTextOfACrashDump) {
    EXPECT_EQ(state_bits_of_text("ACT_PRIO_NORMAL | USR_PRIO_LOW | PRQ_PRIO_HIGH | SUSPENDED"),
              2U | 3U << 2U | 1U << 4U | kSuspended);
    EXPECT_EQ(state_bits_of_text("MAYBE_SELF_SIGS"), kBit12);
    EXPECT_EQ(state_bits_of_text("MSG_SIG_IN_Q"), kBit12);
    EXPECT_FALSE(state_bits_of_text("SUSPENDED | PENDING_EXIT"));
    EXPECT_FALSE(state_bits_of_text("ACT_PRIO_NORMAL | SUSPEN"));
    EXPECT_EQ(state_bits_of_text(""), 0U);
}

TEST(ProcessFlags, OfTracesAreThoseThatErlangTraceTakes) {
    constexpr std::uint64_t kSendAndCall = 1U << 4U | 1U << 10U;
    EXPECT_EQ(flag_names(FlagWord::kTrace, kSendAndCall, 29), "send | call");
    EXPECT_EQ(flag_names(FlagWord::kTrace, kSensitiveTraceFlag, 25), "sensitive");
    EXPECT_EQ(flag_names(FlagWord::kTrace, 1U << 18U, 25), "exception_trace");
    EXPECT_EQ(flag_names(FlagWord::kTrace, 1U << 18U, 27), "BIT_18");
}

TEST(ProcessFlags, OfAuxWorkAreReadFromTheTextOfACrashDump) {
    constexpr std::uint32_t kBits = 1U | 1U << 2U | 1U << 16U;
    constexpr std::string_view kText = "DELAYED_AW_WAKEUP | DD_THR_PRGR | DEBUG_WAIT_COMPLETED";
    EXPECT_EQ(aux_work_of_text(kText), kBits);
    EXPECT_EQ(flag_names(FlagWord::kAuxWork, kBits, 0), kText);
    EXPECT_EQ(aux_work_of_text(""), 0U);
    EXPECT_FALSE(aux_work_of_text("DD | CODE_IX_ACTIVATION"));
}

TEST(ProcessFlags, ReleasesAreNumbers) {
    EXPECT_EQ(release_number("25"), 25U);
    EXPECT_EQ(release_number("R16B03"), 16U);
    EXPECT_EQ(release_number("29-rc1"), 29U);
    EXPECT_EQ(release_number(""), 0U);
}

TEST(RelationCounts, AreThoseOfProcessInfo) {
    constexpr std::uint32_t kPending = 32;
    records::Relations page;
    page.add_link();
    page.add_link()->set_unlinking(true);
    const auto monitor = [&](records::MonitorKind kind, bool target, std::uint32_t flags = 0) {
        auto& added = *page.add_monitor();
        added.set_kind(kind);
        added.set_is_target(target);
        added.set_flags(flags);
    };
    monitor(records::MONITOR_KIND_PROCESS, false);
    monitor(records::MONITOR_KIND_PROCESS, false, kPending);
    monitor(records::MONITOR_KIND_TIME_OFFSET, false);
    monitor(records::MONITOR_KIND_ALIAS, false);
    monitor(records::MONITOR_KIND_SUSPEND, false);
    monitor(records::MONITOR_KIND_PROCESS, true);
    monitor(records::MONITOR_KIND_RESOURCE, true);
    monitor(records::MONITOR_KIND_SUSPEND, true);
    RelationCounts counts;
    counts.add(page, kPending);
    EXPECT_EQ(counts.linked, 1U);
    EXPECT_EQ(counts.monitored, 2U);
    EXPECT_EQ(counts.monitored_by, 2U);
}

TEST(Signals, AreNamedByTheirTag) {
    constexpr unsigned kArityShift = 6;
    EXPECT_EQ(signal_kind(std::uint64_t{2} << kArityShift), "monitor_down");
    EXPECT_EQ(signal_kind((std::uint64_t{11} | 13U << 8U) << kArityShift), "process_info");
    EXPECT_EQ(signal_kind(std::uint64_t{0x30} << kArityShift), "unknown");
}

}  // namespace
}  // namespace beamdump
