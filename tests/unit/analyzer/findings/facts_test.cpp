// Rules that look at tables and indexes: each where it finds something, and where it stays silent.
#include "findings_fixture.h"

namespace beamdump::test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

SampleProcess plain(std::uint64_t number) {
    SampleProcess process;
    process.number = number;
    return process;
}

using Facts = FindingsFixture;

TEST_F(Facts, ALongMailboxIsNamed) {
    SampleDump dump;
    SampleProcess process = alpha_process();
    process.queue_length = 200'000;
    dump.add(process);
    for (std::uint64_t number = 2; number < 6; ++number) {
        process = plain(number);
        process.queue_length = 10'000 + number;
        dump.add(process);
    }
    const auto findings = look(dump);
    EXPECT_THAT(
        found(findings, "mailbox"),
        ElementsAre("A mailbox of 200,000 messages in alpha (<0.1.0>), which is waiting in "
                    "demo:loop/1.",
                    "A mailbox of 10,005 messages in <0.5.0> (demo:loop/1), which is waiting "
                    "in demo:loop/1.",
                    "A mailbox of 10,004 messages in <0.4.0> (demo:loop/1), which is waiting "
                    "in demo:loop/1."));
    EXPECT_EQ(findings.found.front().command, "beamdump-analyze messages node.beamdump 0.1.0");
    EXPECT_EQ(std::get<std::uint64_t>(findings.found.front().figures.front().value), 200'000U);
}

TEST_F(Facts, AShortMailboxIsNot) {
    SampleDump dump;
    SampleProcess process = alpha_process();
    process.queue_length = 9'999;
    dump.add(process);
    EXPECT_THAT(look(dump).found, IsEmpty());
}

TEST_F(Facts, AProcessWithMostOfTheMemoryIsNamed) {
    SampleDump dump;
    SampleProcess process = alpha_process();
    process.memory = 61 * kMebi;
    dump.add(process);
    process = plain(2);
    process.memory = 39 * kMebi;
    dump.add(process);
    const auto findings = look(dump);
    EXPECT_THAT(found(findings, "process_memory"),
                ElementsAre("61% of the memory of processes (61.0 MiB of 100.0 MiB) is that of one "
                            "process, alpha (<0.1.0>)."));
    EXPECT_THAT(findings.found.front().command, HasSubstr("heap node.beamdump 0.1.0"));
}

TEST_F(Facts, NoTermsOfAVoidProcessArePromised) {
    SampleDump dump;
    SampleProcess process = alpha_process();
    process.memory = 61 * kMebi;
    process.void_reason = records::VOID_REASON_COLLECTING;
    dump.add(process);
    const auto findings = look(dump);
    EXPECT_THAT(found(findings, "process_memory"),
                ElementsAre(HasSubstr("alpha (<0.1.0>). The dump does not have its memory.")));
    EXPECT_THAT(findings.found.front().command, HasSubstr("process node.beamdump 0.1.0"));
}

TEST_F(Facts, AProcessWithLessIsNot) {
    SampleDump half;
    SampleProcess process = alpha_process();
    process.memory = 49 * kMebi;
    half.add(process);
    process = plain(2);
    process.memory = 51 * kMebi - kMebi / 2;
    half.add(process);
    process = plain(3);
    process.memory = kMebi;
    half.add(process);
    EXPECT_THAT(found(look(half), "process_memory"), SizeIs(1));
    SampleDump small;
    process = alpha_process();
    process.memory = 31 * kMebi;
    small.add(process);
    EXPECT_THAT(found(look(small), "process_memory"), IsEmpty());
}

TEST_F(Facts, ManyProcessesOfOneKindAreNamed) {
    SampleDump dump;
    dump.add(alpha_process());
    for (std::uint64_t number = 2; number < 1002; ++number) {
        SampleProcess process = plain(number);
        process.translated_arity = 3;
        dump.add(process);
    }
    EXPECT_THAT(found(look(dump), "process_kind"),
                ElementsAre("1,000 of 1,001 processes (99%) are of one kind, demo:alpha/3, with "
                            "976.6 KiB."));
}

TEST_F(Facts, FewerOrDifferentOnesAreNot) {
    SampleDump few;
    for (std::uint64_t number = 1; number < 1000; ++number) {
        few.add(plain(number));
    }
    EXPECT_THAT(found(look(few), "process_kind"), IsEmpty());
    SampleDump different(1'700'000'100'000'000, {.frame_bytes = 1U << 16U});
    for (std::uint64_t number = 1; number < 2500; ++number) {
        SampleProcess process = plain(number);
        process.initial_arity = number % 5 < 2 ? 1 : number % 2 + 2;
        different.add(process);
    }
    EXPECT_THAT(found(look(different), "process_kind"), IsEmpty());
}

TEST_F(Facts, ALargeDictionaryIsNamed) {
    SampleDump dump;
    SampleProcess process = alpha_process();
    process.memory = kMebi;
    process.dictionary_entries = 10'000;
    dump.add(process);
    const auto findings = look(dump);
    EXPECT_THAT(found(findings, "large_dictionary"),
                ElementsAre("A process dictionary of 10,000 entries in alpha (<0.1.0>)."));
    EXPECT_EQ(left_out(findings, "large_dictionary"), "");
}

TEST_F(Facts, ASmallDictionaryIsNot) {
    SampleDump dump;
    for (std::uint64_t number = 1; number < 12; ++number) {
        SampleProcess process = plain(number);
        process.memory = (number == 1 ? 2 : 1) * kMebi;
        process.dictionary_entries = number == 1 ? 9'999 : number == 11 ? 50'000 : 1;
        dump.add(process);
    }
    const auto findings = look(dump);
    EXPECT_THAT(found(findings, "large_dictionary"), IsEmpty());
    EXPECT_THAT(left_out(findings, "large_dictionary"), HasSubstr("8 largest processes only"));
    // The eleventh by memory.
    const auto full = look_again(query::FindingsDepth::kFull);
    EXPECT_THAT(found(full, "large_dictionary"), SizeIs(1));
    EXPECT_EQ(left_out(full, "large_dictionary"), "");
}

class Tables : public FindingsFixture {
  protected:
    query::Findings with_table(std::uint64_t bytes, std::optional<std::uint64_t> total,
                               std::uint64_t rows = 1200, bool fixed = false) {
        SampleDump dump;
        dump.add(alpha_process());
        records::EtsTables page;
        auto& table = *page.add_table();
        table.set_name_atom(kAlphaAtom);
        table.set_bytes(bytes);
        table.set_rows(rows);
        table.set_fixed(fixed);
        dump.builder().trailer().add_ets_tables_offset(
            dump.builder().append(format::RecordKind::kEtsTables, page));
        if (total) {
            add_total(dump, *total);
        }
        return look(dump);
    }
};

TEST_F(Tables, ALargeEtsTableIsNamed) {
    const auto findings = with_table(40 * kMebi, 100 * kMebi);
    EXPECT_THAT(found(findings, "ets_table"),
                ElementsAre("40% of the node's memory (40.0 MiB of 100.0 MiB) is the ETS table "
                            "alpha, with 1,200 rows."));
    // What is resident, 40 MiB, where the dump has no categories.
    EXPECT_THAT(found(with_table(40 * kMebi, std::nullopt), "ets_table"), SizeIs(1));
}

TEST_F(Tables, AFixedOneThatKeepsDeletedRowsIsNamed) {
    EXPECT_THAT(found(with_table(40 * kMebi, 1000 * kMebi, 10'240, true), "ets_table"),
                ElementsAre("4% of the node's memory (40.0 MiB of 1000.0 MiB) is the ETS table "
                            "alpha, with 10,240 rows: it is fixed (ets:safe_fixtable, or a "
                            "traversal under way), which keeps what is deleted."));
    EXPECT_THAT(with_table(40 * kMebi, 1000 * kMebi, 10'241, true).found, IsEmpty());
    EXPECT_THAT(with_table(40 * kMebi, 1000 * kMebi, 10, false).found, IsEmpty());
}

TEST_F(Tables, ASmallerOneIsNot) {
    EXPECT_THAT(with_table(40 * kMebi, 201 * kMebi).found, IsEmpty());
    EXPECT_THAT(with_table(31 * kMebi, 60 * kMebi).found, IsEmpty());
    SampleDump none;
    none.add(alpha_process());
    EXPECT_THAT(left_out(look(none), "ets_table"), HasSubstr("no ETS tables"));
}

class Binaries : public FindingsFixture {
  protected:
    query::Findings with_binaries(std::uint64_t bytes, std::uint64_t total) {
        SampleDump dump;
        dump.add(alpha_process());
        add_total(dump, total);
        dump.builder().trailer().mutable_totals()->set_binaries(3000);
        dump.builder().trailer().mutable_totals()->set_binary_bytes(bytes);
        return look(dump);
    }
};

TEST_F(Binaries, ManyAreNamed) {
    EXPECT_THAT(found(with_binaries(61 * kMebi, 100 * kMebi), "binary_memory"),
                ElementsAre("61% of the node's memory (61.0 MiB of 100.0 MiB) is 3,000 "
                            "reference-counted binaries."));
}

TEST_F(Binaries, WhoKeepsThemIsTold) {
    const auto kept = [this](std::vector<std::optional<std::uint64_t>> bytes, bool last_is_void) {
        SampleDump dump;
        add_total(dump, 100 * kMebi);
        dump.builder().trailer().mutable_totals()->set_binaries(3000);
        dump.builder().trailer().mutable_totals()->set_binary_bytes(60 * kMebi);
        for (std::uint64_t number = 1; number <= bytes.size(); ++number) {
            auto process = plain(number);
            process.binary_bytes = bytes[number - 1];
            if (last_is_void && number == bytes.size()) {
                process.void_reason = records::VOID_REASON_RUNNING;
            }
            dump.add(process);
        }
        return found(look(dump), "binary_memory").front();
    };
    const std::string others =
        ": rows of tables, messages that wait, ports or native code keep the others.";
    EXPECT_THAT(kept({kMebi, 32 * kMebi}, false),
                EndsWith("binaries, of which <0.2.0> (demo:loop/1) keeps about 32.0 MiB."));
    EXPECT_THAT(kept({kMebi, 20 * kMebi}, false),
                EndsWith("binaries, of which processes keep about 21.0 MiB" + others));
    EXPECT_THAT(kept({0, 0}, false), EndsWith("binaries, of which processes keep none" + others));
    // Many processes together; what one keeps is unknown.
    EXPECT_THAT(kept({20 * kMebi, 20 * kMebi}, false), EndsWith("binaries."));
    EXPECT_THAT(kept({kMebi, std::nullopt}, false), EndsWith("binaries."));
    // Of one whose terms are void too.
    EXPECT_THAT(kept({kMebi, 32 * kMebi}, true),
                EndsWith("binaries, of which <0.2.0> (demo:loop/1) keeps about 32.0 MiB."));
    EXPECT_THAT(kept({kMebi, kMebi, kMebi}, true),
                EndsWith("binaries, of which processes keep about 3.0 MiB" + others));
}

/// As of a capture without heaps, or where the process that keeps them is void.
TEST_F(Binaries, ThoseThatTheDumpLacksAreNamedAsTheNodeCountsThem) {
    const auto with_category = [this](std::uint64_t bytes, std::uint64_t kept = 0) {
        SampleDump dump;
        dump.add(alpha_process());
        if (kept != 0) {
            auto process = plain(2);
            process.binary_bytes = kept;
            process.void_reason = records::VOID_REASON_RUNNING;
            dump.add(process);
        }
        records::SystemMemory system;
        for (const auto& [name, size] :
             {std::pair("total", 100 * kMebi), std::pair("binary", bytes)}) {
            auto& category = *system.add_category();
            category.set_name(name);
            category.set_bytes(size);
        }
        dump.builder().trailer().set_system_memory_offset(
            dump.builder().append(format::RecordKind::kSystemMemory, system));
        dump.builder().trailer().mutable_totals()->set_binaries(0);
        dump.builder().trailer().mutable_totals()->set_binary_bytes(0);
        return found(look(dump), "binary_memory");
    };
    EXPECT_THAT(with_category(61 * kMebi),
                ElementsAre("61% of the node's memory (61.0 MiB of 100.0 MiB) is binaries, as the "
                            "node counted it. Most are not in this dump; a capture with heaps "
                            "tells who keeps them."));
    EXPECT_THAT(with_category(61 * kMebi, 40 * kMebi),
                ElementsAre("61% of the node's memory (61.0 MiB of 100.0 MiB) is binaries, as the "
                            "node counted it, of which <0.2.0> (demo:loop/1) keeps about 40.0 MiB. "
                            "Most are not in this dump."));
    EXPECT_THAT(with_category(49 * kMebi), IsEmpty());
}

TEST_F(Binaries, AFewAreNoFinding) {
    EXPECT_THAT(with_binaries(49 * kMebi, 100 * kMebi).found, IsEmpty());
    EXPECT_THAT(with_binaries(31 * kMebi, 40 * kMebi).found, IsEmpty());
}

/// A sample of 8 atoms and `more` that differ in a number only, of at most 100.
SampleDump with_atoms(std::size_t more) {
    SampleDump dump(1'700'000'100'000'000, {.arguments = {"beam.smp", "-t", "100", "--"}});
    std::vector<std::string> atoms;
    for (std::size_t i = 0; i < more; ++i) {
        atoms.push_back("param_" + std::to_string(i));
    }
    dump.builder().add_atoms(8, atoms);
    dump.add(alpha_process());
    return dump;
}

TEST_F(Facts, AnAtomTableThatFillsIsNamed) {
    auto dump = with_atoms(75);
    const auto findings = look(dump);
    EXPECT_THAT(
        found(findings, "atom_table"),
        ElementsAre("The atom table is 83% full (83 of 100 atoms), 90% of it param_N (75)."));
}

TEST_F(Facts, AnAtomTableWithRoomIsNot) {
    auto dump = with_atoms(41);
    const auto findings = look(dump);
    EXPECT_THAT(findings.found, IsEmpty());
    EXPECT_EQ(left_out(findings, "atom_table"), "");
}

TEST_F(Facts, FullTablesOfProcessesAndPortsAreNamed) {
    SampleDump dump(1'700'000'100'000'000, {.process_limit = 4, .port_limit = 2});
    dump.add_ports();
    for (std::uint64_t number = 1; number < 4; ++number) {
        dump.add(plain(number));
    }
    const auto findings = look(dump);
    EXPECT_THAT(found(findings, "process_limit"),
                ElementsAre("The process table is 75% full (3 of 4 processes)."));
    EXPECT_THAT(found(findings, "port_limit"),
                ElementsAre("The port table is 100% full (2 of 2 ports)."));
}

TEST_F(Facts, TablesWithRoomAreNot) {
    SampleDump dump(1'700'000'100'000'000, {.process_limit = 5, .port_limit = 3});
    dump.add_ports();
    for (std::uint64_t number = 1; number < 4; ++number) {
        dump.add(plain(number));
    }
    EXPECT_THAT(look(dump).found, IsEmpty());
}

class OrphanedTimers : public FindingsFixture {
  protected:
    query::Findings with_timers(int orphaned) {
        SampleDump dump;
        dump.add(alpha_process());
        add_timers(dump.builder(), kLoopAtom, orphaned);
        return look(dump);
    }
};

TEST_F(OrphanedTimers, ManyForANameThatNoProcessHasAreTold) {
    const auto findings = with_timers(1000);
    EXPECT_THAT(found(findings, "orphaned_timers"),
                ElementsAre("1,000 of 1,001 message timers wait to send a message to loop, a "
                            "name that no process has."));
    EXPECT_EQ(findings.found.front().command,
              "beamdump-analyze timers node.beamdump --filter receiver=loop");
}

TEST_F(OrphanedTimers, AFewAreNot) {
    const auto findings = with_timers(999);
    EXPECT_THAT(found(findings, "orphaned_timers"), IsEmpty());
    EXPECT_EQ(left_out(findings, "orphaned_timers"), "");
}

TEST_F(OrphanedTimers, ADumpWithoutTimersSaysSo) {
    SampleDump dump;
    dump.add(alpha_process());
    EXPECT_THAT(left_out(look(dump), "orphaned_timers"), StartsWith("the dump has no timers: "));
}

TEST_F(OrphanedTimers, VeryManyForOneReceiverAreTold) {
    for (const int timers : {99'999, 100'000}) {
        SampleDump dump;
        dump.add(alpha_process());
        add_timers(dump.builder(), kAlphaAtom, timers);
        EXPECT_THAT(found(look(dump), "orphaned_timers"),
                    timers < 100'000
                        ? testing::Matcher<std::vector<std::string>>(IsEmpty())
                        : ElementsAre("100,000 of 100,001 message timers are for one receiver, "
                                      "alpha (<0.1.0>)."));
    }
}

class Carriers : public FindingsFixture {
  protected:
    query::Findings with_carriers(std::uint64_t bytes, std::uint64_t used) {
        SampleDump dump;
        dump.add(alpha_process());
        records::Allocators page;
        auto& instance = *page.add_instance();
        instance.set_number(6);
        instance.set_name("eheap_alloc");
        auto& carriers = *instance.mutable_multi_block();
        carriers.set_carriers(10);
        carriers.set_carrier_bytes(bytes);
        auto& blocks = *carriers.add_blocks();
        blocks.set_allocator(6);
        blocks.set_count(1);
        blocks.set_bytes(used);
        dump.builder().trailer().add_allocator_offset(
            dump.builder().append(format::RecordKind::kAllocator, page));
        return look(dump);
    }
};

TEST_F(Carriers, LittleUsedOnesAreNamed) {
    EXPECT_THAT(found(with_carriers(1000 * kMebi, 410 * kMebi), "carriers"),
                ElementsAre("41% utilisation of eheap_alloc carriers: 590.0 MiB of 1000.0 MiB are "
                            "free."));
}

TEST_F(Carriers, WellUsedAndSmallOnesAreNot) {
    EXPECT_THAT(with_carriers(1000 * kMebi, 610 * kMebi).found, IsEmpty());
    EXPECT_THAT(with_carriers(130 * kMebi, 10 * kMebi).found, IsEmpty());
}

TEST_F(Facts, CommandsAreForAShell) {
    SampleDump dump;
    SampleProcess process = alpha_process();
    process.queue_length = 20'000;
    dump.add(process);
    program_.put("node.beamdump", dump.finish());
    opened_ = expect_value(Dump::open(program_.path("node.beamdump")));
    query::NodeFacts facts(*opened_, "it's here.beamdump", {});
    EXPECT_EQ(facts.command("ets", {"a b"}), "beamdump-analyze ets 'it'\\''s here.beamdump' 'a b'");
}

TEST_F(Facts, NamesOfTheNodeCannotWriteToATerminal) {
    SampleDump dump(1'700'000'100'000'000, {.module_name = "a\x1b[2Jb"});
    for (std::uint64_t number = 1; number < 1002; ++number) {
        dump.add(plain(number));
    }
    program_.put("node.beamdump", dump.finish());
    const auto out = program_.run({"summary", "node.beamdump"}).out;
    EXPECT_THAT(out, HasSubstr("are of one kind"));
    EXPECT_THAT(out, ::testing::Not(HasSubstr("\x1b")));
}

TEST_F(Facts, EachRuleHasANameOfItsOwn) {
    std::set<std::string_view> ids;
    for (const auto& rule : query::finding_rules()) {
        EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    }
    EXPECT_GE(ids.size(), 14U);
}

}  // namespace
}  // namespace beamdump::test
