// Rules about the emulator's own state: each where it finds something, and where it stays silent.
#include "findings_fixture.h"
#include "sample_emulator.h"

#include <cstdint>

namespace beamdump::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using EmulatorFindings = FindingsFixture;

constexpr std::uint32_t kSuspendedBit = 1U << 16U;
constexpr std::uint64_t kMany = 50'000;
constexpr std::uint64_t kTraced = 100;

void add_scheduler(SampleDump& dump, std::uint64_t runs) {
    records::Schedulers page;
    auto& scheduler = *page.add_scheduler();
    scheduler.set_kind(records::SCHEDULER_KIND_NORMAL);
    scheduler.set_number(1);
    scheduler.set_busy(true);
    scheduler.set_current_owner_id(format::owner_id_of(runs, 0));
    dump.builder().trailer().add_schedulers_offset(
        dump.builder().append(format::RecordKind::kScheduler, page));
}

SampleProcess running(std::uint64_t number) {
    SampleProcess process;
    process.number = number;
    process.void_reason = records::VOID_REASON_RUNNING;
    return process;
}

TEST_F(EmulatorFindings, ASchedulerThatHoldsUpOthersIsNamed) {
    for (const bool suspended : {true, false}) {
        SampleDump dump;
        add_scheduler(dump, 9);
        auto holder = alpha_process();
        if (suspended) {
            holder.status = records::PROCESS_STATUS_SUSPENDED;
            holder.state_bits = kSuspendedBit;
        }
        dump.add(holder);
        dump.add(running(9));
        add_emulator(dump.builder());
        const auto sentences = found(look(dump), "emulator_waits");
        if (!suspended) {
            EXPECT_THAT(sentences, IsEmpty());
            continue;
        }
        EXPECT_THAT(
            sentences,
            ElementsAre("1 process waits for thread progress (code loading, "
                        "persistent_term:put, purges), which scheduler 1 has held up for "
                        "at least 1,990 ms: it runs <0.9.0> (demo:loop/1) in demo:loop/1."));
    }
}

TEST_F(EmulatorFindings, ManyThatWaitForAPermissionAreTold) {
    for (const std::uint64_t waiters : {9U, 10U}) {
        SampleDump dump;
        dump.add(alpha_process());
        records::Emulator emulator;
        auto& staging = *emulator.add_permission();
        staging.set_kind(records::PERMISSION_KIND_CODE_STAGING);
        staging.set_held(true);
        staging.set_holder_stored(true);
        staging.set_holder_owner_id(format::owner_id_of(1, 0));
        staging.set_waiters(waiters);
        dump.builder().trailer().add_emulator_offset(
            dump.builder().append(format::RecordKind::kEmulator, emulator));
        const auto sentences = found(look(dump), "emulator_waits");
        if (waiters < 10) {
            EXPECT_THAT(sentences, IsEmpty());
            continue;
        }
        EXPECT_THAT(sentences,
                    ElementsAre("10 wait for the permission code_staging, which is held by alpha "
                                "(<0.1.0>), which is waiting in demo:loop/1."));
    }
}

TEST_F(EmulatorFindings, APurgeThatGetsNoAnswerIsToldOfWhoDoesNotReturn) {
    for (const std::uint64_t runs : {9U, 8U}) {
        SampleDump dump;
        add_scheduler(dump, runs);
        dump.add(alpha_process());
        auto process = running(9);
        process.state_bits = 1U << 18U;  // ERTS_PSFLG_SYS_TASKS
        records::SystemTask task;
        task.set_kind(records::SYSTEM_TASK_KIND_CHECK_PROCESS_CODE);
        task.set_module_atom(kModuleAtom);
        task.set_requester_owner_id(format::owner_id_of(1, 0));
        process.system_tasks = {task};
        dump.add(process);
        dump.add(running(8));
        add_emulator(dump.builder());
        const auto sentences = found(look(dump), "emulator_waits");
        if (runs != 9) {
            EXPECT_THAT(sentences, IsEmpty());
            continue;
        }
        EXPECT_THAT(sentences,
                    ElementsAre("A purge of demo does not go on: alpha (<0.1.0>) has asked <0.9.0> "
                                "(demo:loop/1) in demo:loop/1 whether it uses the old code, and "
                                "that one runs without a pause and does not answer."));
    }
}

TEST_F(EmulatorFindings, MessagesOfAProcessThatAnotherOneSuspendsAreTold) {
    for (const std::uint64_t messages : {99U, 100U}) {
        SampleDump dump;
        SampleProcess process;
        process.number = 2;
        process.status = records::PROCESS_STATUS_SUSPENDED;
        process.state_bits = kSuspendedBit;
        process.queue_length = messages;
        records::Monitor monitor;
        monitor.set_kind(records::MONITOR_KIND_SUSPEND);
        monitor.set_is_target(true);
        monitor.set_other_word(pid_word(1));
        process.monitors = {monitor};
        dump.add(process);
        dump.add(alpha_process());
        const auto sentences = found(look(dump), "suspended_process");
        if (messages < 100) {
            EXPECT_THAT(sentences, IsEmpty());
            continue;
        }
        EXPECT_THAT(
            sentences,
            ElementsAre("100 messages are unread in <0.2.0> (demo:loop/1): it is "
                        "suspended by alpha (<0.1.0>), and goes on only when that one resumes "
                        "it or exits."));
    }
}

TEST_F(EmulatorFindings, ADumpWithoutTheEmulatorsStateIsNotLookedAt) {
    SampleDump dump;
    dump.add(alpha_process());
    EXPECT_THAT(left_out(look(dump), "emulator_waits"), HasSubstr("no state of the emulator"));
}

TEST_F(EmulatorFindings, VeryManyMonitorsOfOneProcessAreTold) {
    for (const std::uint64_t count : {kMany - 1, kMany}) {
        SampleDump dump;
        auto process = alpha_process();
        process.monitored_by = count;
        dump.add(process);
        const auto findings = look(dump);
        if (count < kMany) {
            EXPECT_THAT(found(findings, "many_relations"), IsEmpty());
            EXPECT_EQ(left_out(findings, "many_relations"), "");
            continue;
        }
        EXPECT_THAT(found(findings, "many_relations"),
                    ElementsAre("alpha (<0.1.0>) is monitored 50,000 times by others: each takes "
                                "memory, and is a signal when one of both exits."));
    }
}

TEST_F(EmulatorFindings, VeryManyResourcesOfATypeAreTold) {
    for (const std::uint64_t count : {kMany - 1, kMany}) {
        SampleDump dump;
        dump.add(alpha_process());
        records::ResourceTypes types;
        for (const auto living : {count, std::uint64_t{7}}) {
            auto& type = *types.add_type();
            type.set_struct_address(0x1000 + living);
            type.set_module_atom(kAlphaAtom);
            type.set_name_atom(kAlphaAtom);
            type.set_living(living);
        }
        dump.builder().trailer().add_resource_types_offset(
            dump.builder().append(format::RecordKind::kResourceTypes, types));
        const auto findings = look(dump);
        if (count < kMany) {
            EXPECT_THAT(found(findings, "many_resources"), IsEmpty());
            EXPECT_EQ(left_out(findings, "many_resources"), "");
            continue;
        }
        EXPECT_THAT(found(findings, "many_resources"),
                    ElementsAre("50,000 NIF resources of the type alpha:alpha live, of 50,007 of "
                                "all types, in a node of 1 process: each keeps what its library "
                                "took for it."));
    }
}

TEST_F(EmulatorFindings, ATraceOfManyProcessesIsTold) {
    constexpr std::uint32_t kCall = 1U << 10U;
    for (const std::uint64_t traced : {std::uint64_t{0}, kTraced - 1, kTraced}) {
        SampleDump dump;
        for (std::uint64_t number = 1; number <= kTraced + 3; ++number) {
            SampleProcess process;
            process.number = number;
            process.trace_flags = number <= traced ? kCall : kSensitiveTraceFlag;
            if (number <= traced) {
                records::Tracing tracing;
                tracing.set_flags(kCall);
                tracing.mutable_tracer()->set_owner_id(format::owner_id_of(kTraced + 1, 0));
                process.tracing.push_back(tracing);
            }
            dump.add(process);
        }
        const auto findings = look(dump);
        if (traced < kTraced) {
            EXPECT_THAT(found(findings, "traced"), IsEmpty());
            EXPECT_EQ(left_out(findings, "traced"), "");
            continue;
        }
        EXPECT_THAT(found(findings, "traced"),
                    ElementsAre(AllOf(HasSubstr("100 of 103 processes are traced by <0.101.0>"),
                                      HasSubstr("(call): they take time"))));
    }
}

void add_fixed_table(SampleDump& dump, std::int64_t since_us) {
    records::EtsTables page;
    auto& table = *page.add_table();
    table.set_name_atom(kAlphaAtom);
    table.set_rows(3);
    table.set_fixers(1);
    table.add_fixer()->set_owner_id(format::owner_id_of(1, 0));
    table.set_fixed_since_us(since_us);
    dump.builder().trailer().add_ets_tables_offset(
        dump.builder().append(format::RecordKind::kEtsTables, page));
}

TEST_F(EmulatorFindings, ATableThatIsFixedForMinutesIsTold) {
    constexpr std::int64_t kCapturedUs = 1'700'000'000'000'000;
    constexpr std::int64_t kMinute = 60'000'000;
    for (const std::int64_t minutes : {4, 5, 61}) {
        SampleDump dump(kCapturedUs);
        dump.add(alpha_process());
        add_fixed_table(dump, kCapturedUs - minutes * kMinute);
        const auto findings = look(dump);
        const auto sentences = found(findings, "fixed_table");
        EXPECT_EQ(left_out(findings, "fixed_table"), "");
        if (minutes < 5) {
            EXPECT_THAT(sentences, IsEmpty());
            continue;
        }
        EXPECT_THAT(sentences,
                    ElementsAre(fmt::format("The table alpha has been fixed for {} minutes by "
                                            "<0.1.0>: the rows that are deleted from it meanwhile "
                                            "keep their memory.",
                                            minutes)));
    }
}

TEST_F(EmulatorFindings, ACoreDoesNotTellForHowLongATableWasFixed) {
    SampleDump dump(1'700'000'000'000'000, {.mode = records::CAPTURE_MODE_CORE});
    dump.add(alpha_process());
    add_fixed_table(dump, 1'600'000'000'000'000);
    const auto findings = look(dump);
    EXPECT_THAT(found(findings, "fixed_table"), IsEmpty());
    EXPECT_THAT(left_out(findings, "fixed_table"), HasSubstr("when the node was"));
}

TEST_F(EmulatorFindings, ATableThatNobodyHasFixedIsNotTold) {
    SampleDump dump;
    dump.add(alpha_process());
    add_fixed_table(dump, 0);
    const auto findings = look(dump);
    EXPECT_THAT(found(findings, "fixed_table"), IsEmpty());
    EXPECT_EQ(left_out(findings, "fixed_table"), "");
}

TEST_F(EmulatorFindings, WithoutTablesNoneIsLookedForThatIsFixed) {
    SampleDump dump;
    dump.add(alpha_process());
    EXPECT_THAT(left_out(look(dump), "fixed_table"), HasSubstr("no ETS tables"));
}

}  // namespace
}  // namespace beamdump::test
