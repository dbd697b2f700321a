#include <libdump/format/process_flags.h>
#include <libdump/format/process_row.h>
#include <libdump/model/signals.h>

#include <gtest/gtest.h>

namespace beamdump {
namespace {

constexpr ErtsVersion k25 = {{13, 1, 5}}, k27 = {{15, 2, 7}}, k28 = {{16, 4}}, k29 = {{17, 1, 1}};
constexpr std::uint32_t kSuspended = 1U << 16U;
constexpr std::uint32_t kBit12 = 1U << 12U;
constexpr std::uint32_t kBit19 = 1U << 19U;

TEST(ProcessFlags, AreCalledAsTheReleaseCallsThem) {
    EXPECT_EQ(flag_names(FlagWord::kState, kBit12 | kSuspended, k25),
              "MAYBE_SELF_SIGS | SUSPENDED");
    EXPECT_EQ(flag_names(FlagWord::kState, kBit12 | kSuspended, k27), "MSG_SIG_IN_Q | SUSPENDED");
    EXPECT_EQ(flag_names(FlagWord::kSignalQueue, kBit12, k27), "MON_MSGQ_LEN");
    EXPECT_EQ(flag_names(FlagWord::kSignalQueue, kBit12, k29), "MON_MSGQ_LEN_HIGH");
    EXPECT_EQ(flag_names(FlagWord::kProcess, 1U << 22U, k25), "TRAP_EXIT");
}

TEST(ProcessFlags, WereRenamedByPatchesOfTwoReleases) {
    for (const auto* before : {"12.3.2.16", "13.1.5", "13.2.2.2", "14.0", "14.0.2"}) {
        EXPECT_EQ(flag_names(FlagWord::kState, kBit12 | kBit19, erts_version(before)),
                  "MAYBE_SELF_SIGS | SIG_IN_Q")
            << before;
        EXPECT_EQ(flag_names(FlagWord::kSignalQueue, 1U << 9U, erts_version(before)), "BIT_9");
    }
    for (const auto* after : {"13.2.2.3", "13.2.2.16", "14.1", "14.2.5", "15.0", "16.4"}) {
        EXPECT_EQ(flag_names(FlagWord::kState, kBit12 | kBit19, erts_version(after)),
                  "MSG_SIG_IN_Q | NMSG_SIG_IN_Q")
            << after;
        EXPECT_EQ(flag_names(FlagWord::kSignalQueue, 1U << 9U, erts_version(after)),
                  "NON_FETCH_CNT1");
    }
}

TEST(ProcessFlags, OneWithoutANameIsItsNumber) {
    EXPECT_EQ(flag_names(FlagWord::kState, std::uint64_t{1} << 31U, k27), "BIT_31");
    EXPECT_EQ(flag_names(FlagWord::kState, kBit12 | kSuspended, {}), "BIT_12 | SUSPENDED");
    // What 28 calls it was not read.
    EXPECT_EQ(flag_names(FlagWord::kSignalQueue, kBit12, k28), "BIT_12");
    EXPECT_EQ(flag_names(FlagWord::kSignalQueue, 0, k28), "");
}

TEST(ProcessFlags, PrioritiesAreNoFlags) {
    EXPECT_EQ(flag_names(FlagWord::kState, 0x3f, k27), "");
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
    EXPECT_EQ(flag_names(FlagWord::kTrace, kSendAndCall, k29), "send | call");
    EXPECT_EQ(flag_names(FlagWord::kTrace, kSensitiveTraceFlag, k25), "sensitive");
    EXPECT_EQ(flag_names(FlagWord::kTrace, 1U << 18U, k25), "exception_trace");
    EXPECT_EQ(flag_names(FlagWord::kTrace, 1U << 18U, k27), "BIT_18");
}

TEST(ProcessFlags, OfAuxWorkAreReadFromTheTextOfACrashDump) {
    constexpr std::uint32_t kBits = 1U | 1U << 2U | 1U << 16U;
    constexpr std::string_view kText = "DELAYED_AW_WAKEUP | DD_THR_PRGR | DEBUG_WAIT_COMPLETED";
    EXPECT_EQ(aux_work_of_text(kText), kBits);
    EXPECT_EQ(flag_names(FlagWord::kAuxWork, kBits, {}), kText);
    EXPECT_EQ(aux_work_of_text(""), 0U);
    EXPECT_FALSE(aux_work_of_text("DD | CODE_IX_ACTIVATION"));
}

TEST(Erts, VersionsHaveUpToFourNumbers) {
    EXPECT_EQ(erts_version("13.2.2.6"), (ErtsVersion{{13, 2, 2, 6}}));
    EXPECT_EQ(erts_version("16.0-rc2"), (ErtsVersion{{16}}));
    EXPECT_LT(erts_version("5.10.4"), erts_version("13.1"));
    EXPECT_LT(erts_version("14.2.5"), erts_version("14.2.5.1"));
    EXPECT_FALSE(erts_version("").is_known());
    EXPECT_FALSE(erts_version("R16B").is_known());
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
