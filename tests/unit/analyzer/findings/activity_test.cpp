// Rules that look at what the node does: each where it finds something, and where it stays silent.
#include "findings_fixture.h"

#include <cstdint>
#include <initializer_list>

namespace beamdump::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Activity = FindingsFixture;

SampleProcess process_2() {
    SampleProcess process;
    process.number = 2;
    return process;
}

TEST_F(Activity, AProcessThatDoesMostOfTheWorkIsNamed) {
    SampleDump dump;
    SampleProcess process = alpha_process();
    process.reductions = 12'000'000'000;
    process.void_reason = records::VOID_REASON_RUNNING;
    dump.add(process);
    process = process_2();
    process.reductions = 8'000'000'000;
    dump.add(process);
    EXPECT_THAT(found(look(dump), "hot_process"),
                ElementsAre("60% of the reductions of all processes (12,000,000,000 of "
                            "20,000,000,000) are those of one process, alpha (<0.1.0>), which is "
                            "running."));
}

/// `suspended` processes and a busy port that `listed` of them wait for.
void add_busy_port(SampleDump& dump, std::uint64_t suspended, std::uint64_t listed) {
    records::Ports ports;
    auto& port = *ports.add_port();
    port.set_number(5);
    port.set_name("sleep");
    port.set_queued_bytes(4096);
    port.set_busy(true);
    port.set_suspended(listed);
    auto& builder = dump.builder();
    builder.trailer().add_ports_offset(builder.append(format::RecordKind::kPorts, ports));
    for (std::uint64_t number = 1; number <= suspended; ++number) {
        SampleProcess process;
        process.number = number;
        process.status = records::PROCESS_STATUS_SUSPENDED;
        dump.add(process);
    }
}

TEST_F(Activity, ABusyPortForWhichManyWaitIsNamed) {
    SampleDump many;
    add_busy_port(many, 12, 10);
    EXPECT_THAT(found(look(many), "busy_port"),
                ElementsAre("10 processes are suspended, as they sent to a busy port: 10 to "
                            "#Port<0.5> (sleep), in which 4.0 KiB are queued."));
    SampleDump few;
    add_busy_port(few, 12, 9);
    EXPECT_THAT(found(look(few), "busy_port"), IsEmpty());
}

TEST_F(Activity, AProcessThatDidLessOrWaitsIsNot) {
    struct Case {
        std::uint64_t reductions, others;
        bool is_running;
    };
    for (const auto [reductions, others, is_running] :
         {Case{12'000'000'000, 8'300'000'000, true}, Case{9'999'999'999, 1'000'000, true},
          Case{12'000'000'000, 1'000'000, false}}) {
        SampleDump dump;
        SampleProcess process = alpha_process();
        process.reductions = reductions;
        if (is_running) {
            process.void_reason = records::VOID_REASON_RUNNING;
        }
        dump.add(process);
        process = process_2();
        process.reductions = others;
        dump.add(process);
        EXPECT_THAT(found(look(dump), "hot_process"), IsEmpty()) << reductions << ' ' << others;
    }
}

void add_epoch(SampleDump& dump, records::MemorySourceKind source) {
    records::Epoch epoch;
    epoch.set_source(source);
    dump.builder().trailer().add_epoch_offset(
        dump.builder().append(format::RecordKind::kEpoch, epoch));
}

class Asleep : public FindingsFixture {
  protected:
    /// Two messages in alpha, which hibernates, on a node with a scheduler that sleeps and `awake`
    /// that do not.
    std::vector<std::string> found_in(records::MemorySourceKind source, int awake) {
        constexpr std::uint32_t kErlang = 8;
        constexpr std::uint32_t kHibernate = 9;
        SampleDump dump;
        dump.builder().add_atoms(kErlang, {"erlang", "hibernate"});
        add_epoch(dump, source);
        records::Schedulers page;
        for (int number = 0; number <= awake; ++number) {
            auto& scheduler = *page.add_scheduler();
            scheduler.set_kind(records::SCHEDULER_KIND_NORMAL);
            scheduler.set_number(static_cast<std::uint32_t>(number) + 1);
            scheduler.set_busy(false);
            scheduler.set_sleeping(number == 0);
            scheduler.set_suspended(false);
        }
        dump.builder().trailer().add_schedulers_offset(
            dump.builder().append(format::RecordKind::kScheduler, page));
        SampleProcess asleep = alpha_process();
        asleep.current = {kErlang, kHibernate, 3};
        dump.add(asleep);
        // Neither one without messages, nor one that reads them elsewhere.
        asleep = process_2();
        asleep.current = {kErlang, kHibernate, 3};
        dump.add(asleep);
        asleep = process_2();
        asleep.number = 3;
        asleep.messages = {small_word(7), small_word(8)};
        dump.add(asleep);
        // Nor one that is running already.
        asleep.number = 4;
        asleep.current = {kErlang, kHibernate, 3};
        asleep.void_reason = records::VOID_REASON_RUNNING;
        dump.add(asleep);
        return found(look(dump), "asleep_with_messages");
    }
};

TEST_F(Asleep, AProcessThatSleepsOverMessagesIsNamed) {
    for (const auto source : {records::MEMORY_SOURCE_STOPPED, records::MEMORY_SOURCE_TWIN}) {
        EXPECT_THAT(found_in(source, 1),
                    ElementsAre("alpha (<0.1.0>) hibernates with 2 messages in its queue, and is "
                                "not about to run: it was not woken."));
    }
}

TEST_F(Asleep, IsNotSaidWithASignalInFlightOrOfTwoMoments) {
    EXPECT_THAT(found_in(records::MEMORY_SOURCE_STOPPED, 2), IsEmpty());
    EXPECT_THAT(found_in(records::MEMORY_SOURCE_LIVE, 0), IsEmpty());
}

class LiteralCollector : public FindingsFixture {
  protected:
    /// The collector waits for `requests` processes, and has used so many reductions; others
    /// 98,000,000.
    std::vector<std::string> found_with(std::uint64_t requests, std::uint64_t reductions) {
        constexpr std::uint32_t kModule = 8;
        SampleDump dump;
        dump.builder().add_atoms(kModule, {"erts_literal_area_collector", "start"});
        SampleProcess collector = process_2();
        collector.initial_module = kModule;
        collector.initial_function = kModule + 1;
        collector.initial_arity = 0;
        collector.reductions = reductions;
        collector.heap = {tuple_header(2), small_word(requests), kNil};
        collector.stack = {kNil, boxed_word(heap_of(2)), kNormalExit};
        dump.add(collector);
        SampleProcess other = alpha_process();
        other.reductions = 98'000'000;
        dump.add(other);
        return found(look(dump), "persistent_terms");
    }
};

TEST_F(LiteralCollector, ThatIsAtWorkAndHasWorkedMuchIsNamed) {
    EXPECT_THAT(
        found_with(3, 2'000'000),
        ElementsAre("Persistent terms are replaced or erased often, or modules purged: the literal "
                    "area collector (<0.2.0>), which searches each process for what is to be "
                    "freed, is at work and has used 2% of the reductions of all processes "
                    "(2,000,000). Who puts terms is not in a dump: beamdump-sample blame NODE "
                    "--native persistent_term:put/2."));
    EXPECT_THAT(found_with(3, 1'999'999), IsEmpty());
}

TEST_F(LiteralCollector, ThatRestsIsNot) {
    EXPECT_THAT(found_with(0, 25'000'000), IsEmpty());
}

records::Schedulers schedulers_with_queues(std::initializer_list<std::uint32_t> lengths) {
    records::Schedulers page;
    std::uint32_t number = 0;
    for (const std::uint32_t length : lengths) {
        auto& scheduler = *page.add_scheduler();
        scheduler.set_kind(records::SCHEDULER_KIND_NORMAL);
        scheduler.set_number(++number);
        auto& queue = *page.add_run_queue();
        queue.set_kind(records::SCHEDULER_KIND_NORMAL);
        queue.set_number(number);
        queue.set_length(length);
    }
    return page;
}

TEST_F(Activity, LongRunQueuesAreNamedWithWhatRuns) {
    SampleDump dump;
    dump.add(alpha_process());
    records::Schedulers page = schedulers_with_queues({200, 1'000, 199});
    page.mutable_scheduler(1)->set_current_owner_id(format::owner_id_of(1, 0));
    auto& shared = *page.add_run_queue();
    shared.set_kind(records::SCHEDULER_KIND_DIRTY_IO);
    shared.set_length(300);
    page.add_run_queue()->set_kind(records::SCHEDULER_KIND_DIRTY_CPU);
    dump.builder().trailer().add_schedulers_offset(
        dump.builder().append(format::RecordKind::kScheduler, page));
    const auto findings = look(dump);
    EXPECT_THAT(
        found(findings, "run_queue"),
        ElementsAre("1,000 processes and ports wait in the run queue of scheduler 2, which runs "
                    "alpha (<0.1.0>).",
                    "300 processes and ports wait in the run queue of dirty I/O schedulers.",
                    "200 processes and ports wait in the run queue of scheduler 1."));
    EXPECT_EQ(left_out(findings, "run_queue"), "1 run queue could not be read");
    EXPECT_EQ(findings.found.front().command, "beamdump-analyze schedulers node.beamdump");
}

TEST_F(Activity, ShortRunQueuesAreNot) {
    SampleDump dump;
    dump.add(alpha_process());
    dump.builder().trailer().add_schedulers_offset(dump.builder().append(
        format::RecordKind::kScheduler, schedulers_with_queues({199, 0, 100})));
    const auto findings = look(dump);
    EXPECT_THAT(findings.found, IsEmpty());
    EXPECT_EQ(left_out(findings, "run_queue"), "");
}

class Connections : public FindingsFixture {
  protected:
    query::Findings with_connection(SampleConnection connection) {
        SampleDump dump;
        dump.add(alpha_process());
        add_nodes(dump.builder(), kQuotedAtom, connection);
        return look(dump);
    }
};

TEST_F(Connections, ABusyConnectionWithSuspendedProcessesIsNamed) {
    const auto findings = with_connection({.busy = true, .suspended = 2});
    EXPECT_THAT(found(findings, "busy_connection"),
                ElementsAre("The connection to Needs Quotes is busy: 1.0 MiB of data wait to be "
                            "sent, and 2 processes that sent more are suspended."));
    EXPECT_EQ(findings.found.front().command,
              "beamdump-analyze nodes node.beamdump --filter busy=true");
}

TEST_F(Connections, AConnectionThatNobodyWaitsForIsNot) {
    for (const auto connection : {SampleConnection{.busy = true, .suspended = 0},
                                  SampleConnection{.busy = false, .suspended = 1}}) {
        const auto findings = with_connection(connection);
        EXPECT_THAT(found(findings, "busy_connection"), IsEmpty());
        EXPECT_EQ(left_out(findings, "busy_connection"), "");
    }
}

TEST_F(Connections, ADumpWithoutConnectionsSaysSo) {
    SampleDump dump;
    dump.add(alpha_process());
    EXPECT_EQ(left_out(look(dump), "busy_connection"),
              "the dump has no other nodes: it was captured by an older version, or they could not "
              "be read (the warnings of summary tell)");
}

}  // namespace
}  // namespace beamdump::test
