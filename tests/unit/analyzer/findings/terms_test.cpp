// Rules that look at terms of processes: each where it finds something, and where it stays silent.
#include "findings_fixture.h"
#include "sample_caller.h"

namespace beamdump::test {
namespace {

using query::FindingsDepth;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint32_t kGenAtom = 8;
constexpr std::uint32_t kDoCallAtom = 9;

/// A process in gen:do_call/4.
SampleProcess in_call(std::uint64_t number, std::uint64_t called) {
    auto process = caller(number, called);
    process.current = {kGenAtom, kDoCallAtom, 4};
    return process;
}

class Terms : public FindingsFixture {
  protected:
    /// 1 and 2 wait for each other if `cycle`, else 1 for 2; `callers` others wait for 1.
    query::Findings with_callers(std::uint64_t callers, bool cycle,
                                 FindingsDepth depth = FindingsDepth::kQuick) {
        SampleDump dump;
        dump.builder().add_atoms(kGenAtom, {"gen", "do_call"});
        SampleProcess first = in_call(1, 2);
        first.name = kAlphaAtom;
        dump.add(first);
        SampleProcess server;
        server.number = 2;
        dump.add(cycle ? in_call(2, 1) : server);
        for (std::uint64_t i = 0; i < callers; ++i) {
            dump.add(in_call(3 + i, 1));
        }
        return look(dump, depth);
    }
};

TEST_F(Terms, CallersAndACycleAreNamed) {
    const auto findings = with_callers(20, true);
    EXPECT_THAT(found(findings, "call_cycle"),
                ElementsAre("2 processes wait in a cycle of calls for each other: alpha (<0.1.0>), "
                            "<0.2.0> (demo:loop/1); 20 callers wait behind them."));
    // One deadlock is one finding.
    EXPECT_THAT(found(findings, "waiting_callers"), IsEmpty());
    EXPECT_THAT(found(with_callers(0, true), "call_cycle"),
                ElementsAre("2 processes wait in a cycle of calls for each other: alpha (<0.1.0>), "
                            "<0.2.0> (demo:loop/1)."));
    // Of a chain the last one is at fault.
    EXPECT_THAT(
        found(with_callers(20, false), "waiting_callers"),
        ElementsAre("21 callers wait for <0.2.0> (demo:loop/1), which is waiting in demo:loop/1."));
}

TEST_F(Terms, CallersWithoutGenAreFoundWhereTheirRequestsAreUnread) {
    const auto with_unread = [&](std::uint64_t messages) {
        SampleDump dump;
        SampleProcess server;
        server.queue_length = messages;
        dump.add(server);
        for (std::uint64_t number = 2; number <= 31; ++number) {
            auto process = caller(number, 1);
            process.monitored = 1;
            dump.add(process);
        }
        return look(dump, FindingsDepth::kQuick);
    };
    EXPECT_THAT(
        found(with_unread(29), "waiting_callers"),
        ElementsAre("30 callers wait for <0.1.0> (demo:loop/1), which is waiting in demo:loop/1."));
    // They hold its monitor, and wait for something else.
    EXPECT_THAT(found(with_unread(0), "waiting_callers"), IsEmpty());
}

TEST_F(Terms, FewCallersAreNot) {
    const auto findings = with_callers(18, false);
    EXPECT_THAT(findings.found, IsEmpty());
    EXPECT_EQ(left_out(findings, "call_cycle"), "");
    EXPECT_EQ(left_out(findings, "waiting_callers"), "");
}

TEST_F(Terms, ManyCallersAreReadEach) {
    const auto findings = with_callers(200, true);
    EXPECT_THAT(found(findings, "call_cycle"),
                ElementsAre(HasSubstr("; 200 callers wait behind them.")));
    EXPECT_EQ(left_out(findings, "call_cycle"), "");
    EXPECT_THAT(
        found(with_callers(300, false), "waiting_callers"),
        ElementsAre(
            "301 callers wait for <0.2.0> (demo:loop/1), which is waiting in demo:loop/1."));
}

TEST_F(Terms, MoreCallersThanAreReadAreTold) {
    most_callers_ = 50;
    const auto some = with_callers(60, false);
    const std::string left = "50 of 61 processes in a call were read";
    EXPECT_EQ(left_out(some, "call_cycle"), left);
    EXPECT_EQ(left_out(some, "waiting_callers"), left);
    EXPECT_THAT(found(some, "waiting_callers"),
                ElementsAre("At least 50 callers wait for <0.2.0> (demo:loop/1), which is waiting "
                            "in demo:loop/1."));
    EXPECT_EQ(some.full_command, "beamdump-analyze summary node.beamdump --findings full");
    const auto full = look_again(FindingsDepth::kFull);
    EXPECT_THAT(
        found(full, "waiting_callers"),
        ElementsAre("61 callers wait for <0.2.0> (demo:loop/1), which is waiting in demo:loop/1."));
    EXPECT_EQ(left_out(full, "call_cycle"), "");
    EXPECT_EQ(full.full_command, "");
}

TEST_F(Terms, NoFindingOfCallsIsMadeWithoutTerms) {
    terms_ = false;
    const auto findings = with_callers(60, false);
    const std::string left =
        "the stacks of 61 processes in a call are not read of a large crash dump";
    EXPECT_EQ(left_out(findings, "call_cycle"), left);
    EXPECT_EQ(left_out(findings, "waiting_callers"), left);
    EXPECT_EQ(findings.full_command, "beamdump-analyze summary node.beamdump --findings full");
}

TEST_F(Terms, CallersOfWhichItIsNotKnownForWhomTheyWaitAreCounted) {
    SampleDump dump;
    dump.builder().add_atoms(kGenAtom, {"gen", "do_call"});
    for (std::uint64_t number = 1; number <= 300; ++number) {
        auto process = in_call(number, 400);
        process.monitors.clear();
        dump.add(process);
    }
    EXPECT_THAT(found(look(dump), "waiting_callers"),
                ElementsAre("300 processes wait in a call for others."));
}

TEST_F(Terms, OnlyTheCallersAreReadToFindThem) {
    const auto frames = [this](std::uint64_t others) {
        SampleDump dump;
        dump.builder().add_atoms(kGenAtom, {"gen", "do_call"});
        dump.add(in_call(1, 2));
        dump.add(in_call(2, 1));
        for (std::uint64_t i = 0; i < others; ++i) {
            SampleProcess process;
            process.number = 3 + i;
            process.heap = list_words(heap_of(process.number), 2000);
            dump.add(process);
        }
        program_.put("node.beamdump", dump.finish());
        const Ran ran = program_.run({"summary", "node.beamdump", "--stats"});
        EXPECT_THAT(ran.out, HasSubstr("in a cycle of calls"));
        constexpr std::string_view kName = "frames_decompressed=";
        return std::stoul(ran.err.substr(ran.err.find(kName) + kName.size()));
    };
    // The index of more processes takes more frames, their heaps none.
    EXPECT_LE(frames(400), frames(10) + 20);
}

// Headers of OTP 25 (erl_term.h): a ProcBin has five more words, an ErlSubBin three and the
// original.
constexpr std::uint64_t kProcBinHeader = 5U << 6U | 8U << 2U;
constexpr std::uint64_t kSubBinHeader = 3U << 6U | 10U << 2U;

class Pinned : public FindingsFixture {
  protected:
    /// alpha shows `shown` of a binary's bytes.
    query::Findings with_part(std::uint64_t bytes, std::uint64_t shown,
                              FindingsDepth depth = FindingsDepth::kFull) {
        SampleDump dump;
        records::Binaries binaries;
        auto* binary = binaries.add_binary();
        binary->set_address(kBinaryBase);
        binary->set_data_address(kBinaryBase + 24);
        binary->set_size_bytes(bytes);
        binary->set_references(1);
        binary->set_prefix("0123");
        auto& builder = dump.builder();
        const auto offset = builder.append(format::RecordKind::kBinaries, binaries);
        records::BinaryIndexPage page;
        page.add_address(kBinaryBase);
        page.add_record_offset(offset);
        auto* ref = builder.trailer().add_binary_pages();
        ref->set_lowest_address(kBinaryBase);
        ref->set_highest_address(kBinaryBase);
        ref->set_count(1);
        ref->set_offset(builder.append(format::RecordKind::kBinaryIndexPage, page));
        builder.trailer().mutable_totals()->set_binaries(1);
        builder.trailer().mutable_totals()->set_binary_bytes(bytes);
        SampleProcess process;
        process.name = kAlphaAtom;
        const std::uint64_t heap = heap_of(1);
        process.heap = {kProcBinHeader, bytes, 0,   kBinaryBase, kBinaryBase + 24, 0,
                        kSubBinHeader,  shown, 100, 0,           boxed_word(heap)};
        process.off_heap = heap;
        process.stack = {boxed_word(heap + 6 * 8), kNormalExit};
        dump.add(process);
        return look(dump, depth);
    }
};

TEST_F(Pinned, BinariesKeptByPartsAreNamed) {
    EXPECT_THAT(found(with_part(100 * kMebi, 3 * kMebi), "pinned_binaries"),
                ElementsAre("1 binary (100.0 MiB) is kept by terms that show 3% of them, most by "
                            "alpha (<0.1.0>)."));
}

TEST_F(Pinned, WholeAndSmallOnesAreNot) {
    EXPECT_THAT(found(with_part(100 * kMebi, 26 * kMebi), "pinned_binaries"), IsEmpty());
    EXPECT_THAT(found(with_part(31 * kMebi, 10), "pinned_binaries"), IsEmpty());
}

TEST_F(Pinned, TheyAreLookedForOnRequest) {
    const auto quick = with_part(100 * kMebi, 10, FindingsDepth::kQuick);
    EXPECT_THAT(found(quick, "pinned_binaries"), IsEmpty());
    EXPECT_THAT(left_out(quick, "pinned_binaries"), HasSubstr("all processes that hold binaries"));
    // Where there are no binaries to speak of, nothing is left out.
    EXPECT_EQ(left_out(with_part(kMebi, 10, FindingsDepth::kQuick), "pinned_binaries"), "");
}

class OldCode : public FindingsFixture {
  protected:
    /// The module `alpha` with old code, and a process that has it on its stack if `used`.
    query::Findings with_old_code(bool used, bool current,
                                  FindingsDepth depth = FindingsDepth::kQuick) {
        SampleDump dump;
        records::ModuleIndexPage page;
        const auto add = [&](records::ModuleInstance instance, std::uint64_t start) {
            records::Module module;
            module.set_name_atom(kAlphaAtom);
            module.set_instance(instance);
            module.set_code_start(start);
            module.set_code_end(start + 0x100);
            auto* ref = page.add_module();
            ref->set_name_atom(kAlphaAtom);
            ref->set_instance(instance);
            ref->set_code_start(start);
            ref->set_code_end(start + 0x100);
            ref->set_offset(dump.builder().append(format::RecordKind::kModule, module));
        };
        add(records::MODULE_INSTANCE_CURRENT, 0xA000);
        add(records::MODULE_INSTANCE_OLD, 0xB000);
        dump.builder().trailer().add_module_index_offset(
            dump.builder().append(format::RecordKind::kModuleIndexPage, page));
        SampleProcess process;
        process.stack = {used ? 0xB080UL : 0xA080UL, kNormalExit};
        if (current) {
            process.current = {kAlphaAtom, kLoopAtom, 1};
        }
        dump.add(process);
        return look(dump, depth);
    }
};

TEST_F(OldCode, ThatIsRunIsNamed) {
    EXPECT_THAT(found(with_old_code(true, true), "old_code"),
                ElementsAre("Old code of alpha is kept by 1 process that runs it."));
    EXPECT_THAT(found(with_old_code(true, false, FindingsDepth::kFull), "old_code"),
                ElementsAre("Old code of alpha is kept by 1 process that runs it."));
}

TEST_F(OldCode, ThatIsNotRunIsNot) {
    EXPECT_THAT(found(with_old_code(false, true), "old_code"), IsEmpty());
    const auto full = with_old_code(false, true, FindingsDepth::kFull);
    EXPECT_THAT(found(full, "old_code"), IsEmpty());
    EXPECT_EQ(left_out(full, "old_code"), "");
    // Deeper on the stack of a process that is elsewhere now.
    const auto elsewhere = with_old_code(true, false);
    EXPECT_THAT(found(elsewhere, "old_code"), IsEmpty());
    EXPECT_THAT(left_out(elsewhere, "old_code"), HasSubstr("current function"));
}

TEST_F(FindingsFixture, AMailboxIsDescribedByMostOfIt) {
    SampleDump dump;
    SampleProcess process = alpha_process();
    process.queue_length = 20'000;
    process.messages = {small_word(1), small_word(2), atom_word(kLoopAtom)};
    for (std::size_t i = 0; i < 3; ++i) {
        records::Message message;
        message.set_kind(records::MESSAGE_KIND_HEAP);
        message.set_queue(records::QUEUE_KIND_INNER);
        message.set_term_word(small_word(i));
        message.set_from_word(pid_word(7));
        process.entries.push_back(message);
    }
    dump.add(process);
    EXPECT_THAT(found(look(dump, FindingsDepth::kFull), "mailbox"),
                ElementsAre("A mailbox of 20,000 messages in alpha (<0.1.0>), which is waiting in "
                            "demo:loop/1; 83% of them integer(), 50% of them from <0.7.0>."));
}

}  // namespace
}  // namespace beamdump::test
