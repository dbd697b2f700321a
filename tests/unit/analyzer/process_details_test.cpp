#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProcessDetails, TextIsAsItShouldBe) {
    Program program;
    const Ran ran = program.run({"process", "sample.beamdump", "alpha"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_EQ(ran.out, R"(<0.1.0>  alpha

Identity
  registered_name  alpha
  initial_call     demo:loop/1
  group_leader     <0.1.0>

State
  status               waiting
  current_function     demo:loop/1
  current_location     demo.erl:12
  instruction_address  0x7050
  priority             normal
  reductions           1,234,567
  trap_exit            false
  sensitive            false

Memory
  memory           4.9 KiB
  total_heap_size  233 words (1.8 KiB)
  heap_size        233 words (1.8 KiB)
  stack_size       5 words (40 B)
  captured         7 words (56 B)

Garbage collection info
  heap_block_size  233 words (1.8 KiB)
  stack_size       5 words (40 B)

Message queue
  message_queue_len  2

Current stacktrace (2)
  demo:loop/2  demo.erl:12
  demo:loop/2  demo.erl:12

Links (1)
  process  <0.1.0> alpha

Monitors (1)
  process  <0.2.0> 'Needs Quotes'  #Ref<0.9.8.7>

Dictionary (1)
  loop  42

Messages (2)
  0  inner  7
  1  inner  [1,2]

Regions (3)
  KIND        ADDRESS   SIZE  CAPTURED
  heap        0x200000  56 B      56 B
  stack       0x280000  40 B      40 B
  dictionary  0x2c0000  24 B      24 B
)");
}

TEST(ProcessDetails, AllThreeNamesMeanTheSame) {
    Program program;
    const std::string by_name = program.run({"process", "sample.beamdump", "alpha"}).out;
    EXPECT_EQ(program.run({"process", "sample.beamdump", "<0.1.0>"}).out, by_name);
    EXPECT_EQ(program.run({"process", "sample.beamdump", "0.1.0"}).out, by_name);
    EXPECT_EQ(program.run({"process", "sample.beamdump", "Needs Quotes"}).status, 0);
}

TEST(ProcessDetails, VoidProcessShowsItsStructureAlone) {
    Program program;
    const Ran ran = program.run({"process", "sample.beamdump", "<0.4.0>"});
    EXPECT_EQ(ran.status, 3);
    EXPECT_THAT(ran.out, HasSubstr("VOID: it was running when it was captured"));
    EXPECT_THAT(ran.out, HasSubstr("beamdump-capture --mode freeze --process '<0."));
    EXPECT_THAT(ran.out, HasSubstr("reductions           99"));
    EXPECT_THAT(ran.out, Not(HasSubstr("Regions")));
}

TEST(ProcessDetails, SensitiveProcessKeepsItsTerms) {
    Program program;
    const Ran withheld = program.run({"process", "sample.beamdump", "secret"});
    EXPECT_EQ(withheld.status, 3);
    EXPECT_THAT(withheld.out, HasSubstr("SENSITIVE"));
    EXPECT_THAT(withheld.out, Not(HasSubstr("99")));
    const Ran shown = program.run({"process", "sample.beamdump", "secret", "--sensitive"});
    EXPECT_EQ(shown.status, 0);
    EXPECT_THAT(shown.out, HasSubstr("0  inner  99"));
}

TEST(ProcessDetails, ListsAndTermsAreLimited) {
    Program program;
    const Ran one = program.run({"process", "sample.beamdump", "alpha", "--limit", "1"});
    EXPECT_THAT(one.out, HasSubstr("Messages (2)\n  0  inner  7\n  and 1 more"));
    const Ran cut = program.run({"process", "sample.beamdump", "alpha", "--term-bytes", "3"});
    EXPECT_THAT(cut.out, HasSubstr("1  inner  [1,...\n"));
}

// As process_info: {Name, Node}, and nothing for code that is in no file.
TEST(ProcessDetails, NamesTheNodeOfAMonitoredNameAndNoLocationWithoutAFile) {
    SampleDump dump;
    SampleProcess process;
    process.number = 1;
    process.name = kAlphaAtom;
    process.instruction_address = kNormalExit;
    process.monitored_name = kModuleAtom;
    dump.add(process);
    Program program;
    program.put("named.beamdump", dump.finish());
    const Ran ran = program.run({"process", "named.beamdump", "alpha"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.out, HasSubstr("Monitors (2)\n  process  <0.2.0>               #Ref<0.9.8.7>\n"
                                   "  process  {demo,'sample@host'}\n"));
    EXPECT_THAT(ran.out, Not(HasSubstr("current_location")));
}

TEST(ProcessDetails, SuspendedProcessesAndBinariesAreListed) {
    SampleDump dump;
    SampleProcess process;
    process.number = 1;
    process.name = kAlphaAtom;
    const std::uint64_t heap = heap_of(1);
    constexpr std::uint64_t kRefcHeader = 5U << 6U | 8U << 2U;
    constexpr std::uint64_t kExternalPidHeader = 3U << 6U | 12U << 2U;
    // An external pid in the list, then a binary that the dump lacks.
    process.heap = {kExternalPidHeader, 0, heap + 32, 0, kRefcHeader, 100, 0, 0xB000, 0, 0};
    process.off_heap = heap;
    auto& suspending = process.monitors.emplace_back();
    suspending.set_kind(records::MONITOR_KIND_SUSPEND);
    suspending.set_other_word(pid_word(2));
    suspending.set_suspend_count(3);
    suspending.set_suspend_active(true);
    dump.add(process);
    Program program;
    program.put("one.beamdump", dump.finish());
    const Ran ran = program.run({"process", "one.beamdump", "alpha"});
    EXPECT_THAT(ran.out, HasSubstr("Suspending (1)\n  <0.2.0>  3 active, 0 outstanding\n"));
    EXPECT_THAT(ran.out, HasSubstr("Binary (1)\n  ADDRESS  SIZE  REFERENCES\n"
                                   "  0xb000      ?           ?\n"));
}

TEST(ProcessDetails, DictionaryTellsTheTranslatedInitialCallAndTheLabel) {
    SampleDump dump;
    dump.builder().add_atoms(8, {"$initial_call", "$process_label"});
    SampleProcess process;
    process.number = 1;
    process.name = kAlphaAtom;
    const std::uint64_t heap = heap_of(1);
    process.heap = {tuple_header(3), atom_word(kModuleAtom), atom_word(kLoopAtom), small_word(1),
                    tuple_header(2), atom_word(8),           boxed_word(heap),     tuple_header(2),
                    atom_word(9),    small_word(77)};
    process.dictionary = {boxed_word(heap + 32), boxed_word(heap + 56)};
    dump.add(process);
    Program program;
    program.put("one.beamdump", dump.finish());
    const Ran ran = program.run({"process", "one.beamdump", "alpha"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.out, HasSubstr("translated_initial_call  demo:loop/1\n"));
    EXPECT_THAT(ran.out, HasSubstr("label                    77\n"));
}

TEST(ProcessDetails, TornTermsAreMarkedAndCounted) {
    SampleDump dump;
    SampleProcess torn;
    torn.number = 1;
    torn.name = kAlphaAtom;
    torn.messages = {list_word(0xDEAD000)};
    torn.dictionary = {boxed_word(0xDEAD000), small_word(1)};
    dump.add(torn);
    Program program;
    program.put("torn.beamdump", dump.finish());
    const Ran ran = program.run({"process", "torn.beamdump", "alpha"});
    EXPECT_EQ(ran.status, 3);
    EXPECT_THAT(ran.out, HasSubstr("0  inner  #Unreadable<"));
    EXPECT_EQ(ran.err, "beamdump-analyze: 3 placeholders mark unavailable data in the terms\n");
}

}  // namespace
}  // namespace beamdump::test
