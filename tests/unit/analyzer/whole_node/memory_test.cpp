#include "program.h"
#include "query/memory/node_memory.h"
#include "sample_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::byte> memory_dump(bool resident = true, SampleLayout layout = {}) {
    SampleDump dump(1'700'000'100'000'000, std::move(layout));
    dump.add(alpha_process());
    add_node_memory(dump, resident);
    return dump.finish();
}

class MemoryAnswers : public ::testing::Test {
  protected:
    MemoryAnswers() { program_.put("memory.beamdump", memory_dump()); }
    std::string out(const std::vector<std::string>& arguments) {
        const Ran ran = program_.run(arguments);
        EXPECT_EQ(ran.status, 0) << ran.err;
        return ran.out;
    }
    Program program_;
};

TEST_F(MemoryAnswers, AllocatorsAreSummed) {
    EXPECT_EQ(out({"allocators", "memory.beamdump"}),
              R"(ALLOCATOR    CARRIERS     BYTES  RESIDENT  BLOCKS      BYTES   USED   POOLED
eheap_alloc         5  14.0 MiB  11.0 MiB     106    7.4 MiB  52.6%  1.0 MiB
fix_alloc           1   1.0 MiB   1.0 MiB      10  512.0 KiB  50.0%      0 B
total               6  15.0 MiB  12.0 MiB     116    7.9 MiB  52.5%  1.0 MiB

Free blocks by size, of 2 of 3 carriers with several blocks
       FROM  COUNT      BYTES
      512 B      2    1.2 KiB
  512.0 KiB      1  512.0 KiB
      total      3  513.2 KiB
  The largest has 512.0 KiB.
  1 carrier changed while being read.

Kept by mseg_alloc for later: 7 segments, 14.0 MiB, of which 12.0 MiB resident
Mapped from the operating system for carriers and these: 30.0 MiB

Types of fix_alloc
  TYPE  ALLOCATED     USED
  proc    4.5 KiB  3.8 KiB
)");
}

std::vector<std::byte> blocks_dump(bool moving) {
    SampleDump dump;
    dump.add(alpha_process());
    add_blocks(dump, moving);
    return dump.finish();
}

TEST_F(MemoryAnswers, BinariesThatNoTermRefersToAreGrouped) {
    program_.put("blocks.beamdump", blocks_dump(false));
    const auto text = out({"memory", "blocks.beamdump", "--blocks"});
    EXPECT_THAT(text, HasSubstr("Blocks in use of binary_alloc: 3 of 60.0 KiB\n"
                                "  the allocator counts 4 of 80.0 KiB\n"
                                "  blocks of 1 of 2 carriers are not known: 1 changed while they "
                                "were read, 0 not in memory\n"
                                "  1 of 20.0 KiB are binaries that terms of processes, tables, "
                                "messages and literals refer to\n"
                                "  2 of 40.0 KiB no term refers to"));
    EXPECT_THAT(text, HasSubstr("  of those that terms refer to, 1 of 20.0 KiB have another "
                                "reference count than references were found\n"));
    EXPECT_THAT(text, ContainsRegex("binary of a driver, also of terms +demo +from 16.0 KiB +1 "
                                    "+20.0 KiB +1 +0 +LL"));
    EXPECT_THAT(text, ContainsRegex("binary of a driver +demo +from 16.0 KiB +2 +40.0 KiB +2 to 3 "
                                    "+0 +LL.x01 \\(2\\)\n"));
    EXPECT_THAT(text, Not(HasSubstr("The node ran meanwhile: among")));
    EXPECT_THAT(out({"memory", "blocks.beamdump", "--blocks", "--json"}),
                HasSubstr("\"referred_to_bytes\": 20480,"));
    program_.put("blocks.beamdump", blocks_dump(true));
    const auto moving = out({"memory", "blocks.beamdump", "--blocks"});
    EXPECT_THAT(moving, HasSubstr("The node ran meanwhile: among"));
    EXPECT_THAT(moving, Not(HasSubstr("another reference count")));
}

TEST_F(MemoryAnswers, BlocksThatWereNotAskedForAreAnError) {
    const auto ran = program_.run({"memory", "memory.beamdump", "--blocks"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("it was captured without --blocks"));
}

TEST_F(MemoryAnswers, InstancesFiltersAndOrders) {
    const auto instances = out({"allocators", "memory.beamdump", "--instances"});
    EXPECT_THAT(instances, ContainsRegex("eheap_alloc\\[1\\] +4 +13.0 MiB"));
    EXPECT_THAT(instances, ContainsRegex("eheap_alloc\\[0\\] +1 +1.0 MiB"));
    const auto one = out({"allocators", "memory.beamdump", "--filter", "fix"});
    EXPECT_THAT(one, Not(HasSubstr("eheap")));
    EXPECT_THAT(one, Not(HasSubstr("total")));
    const auto first = out({"allocators", "memory.beamdump", "--limit", "1"});
    EXPECT_THAT(first, Not(HasSubstr("\nfix_alloc")));
    EXPECT_THAT(first, ContainsRegex("\ntotal +6 .*\n1 more; --limit 0 shows all\n"));
    const auto named = out({"allocators", "memory.beamdump", "--sort", "name", "--instances"});
    EXPECT_LT(named.find("eheap_alloc[0]"), named.find("fix_alloc[0]"));
    const Ran wrong = program_.run({"allocators", "memory.beamdump", "--sort", "size"});
    EXPECT_EQ(wrong.status, 2);
    EXPECT_THAT(wrong.err, HasSubstr("there is no sort order \"size\": use allocator, name"));
}

TEST_F(MemoryAnswers, CarriersAreListedWithTheirFreeBlocks) {
    EXPECT_THAT(
        out({"allocators", "memory.beamdump", "--carriers"}),
        HasSubstr(
            R"(CARRIER             ALLOCATOR         BYTES  BLOCKS      BYTES   USED  FREE BLOCKS    LARGEST  KIND
0x0000000000400000  eheap_alloc[1]  4.0 MiB       1    3.0 MiB  75.0%            0             mseg, one block
0x0000000000100000  eheap_alloc[0]  1.0 MiB       3  256.0 KiB  25.0%            2  512.0 KiB  mseg
0x0000000000200000  fix_alloc[0]    1.0 MiB      10  512.0 KiB  50.0%            1      600 B  mseg
0x0000000000900000  eheap_alloc[1]  1.0 MiB       2  128.0 KiB  12.5%            ?             mseg, pooled
)"));
    const auto first = out({"allocators", "memory.beamdump", "--carriers", "--sort", "free",
                            "--limit", "1", "--filter", "eheap"});
    EXPECT_THAT(first, ContainsRegex("\n0x0000000000400000 [^\n]+\n2 more; --limit 0 shows all"));
    EXPECT_THAT(first, HasSubstr("of 1 of 2 carriers"));
    const auto placed =
        out({"allocators", "memory.beamdump", "--carriers", "--sort", "name", "--json"});
    EXPECT_LT(placed.find("\"0x100000\""), placed.find("\"0x200000\""));
    EXPECT_LT(placed.find("\"0x400000\""), placed.find("\"0x900000\""));
}

TEST_F(MemoryAnswers, TheResidentPartsAddUp) {
    const auto text = out({"memory", "memory.beamdump"});
    EXPECT_THAT(text, ContainsRegex("total +20.0 MiB\n  processes +8.0 MiB\n  binary +4.0 KiB\n"));
    EXPECT_THAT(text, HasSubstr("  not known: processes_used, "
                                "system, atom, atom_used, code, ets\n"));
    EXPECT_THAT(text, HasSubstr("Resident memory by holder: 40.0 MiB"));
    EXPECT_THAT(text, ContainsRegex("kept by mseg_alloc for later +12.0 MiB +30.0%"));
    EXPECT_THAT(text, ContainsRegex("heaps, stacks and messages of processes +7.4 MiB"));
    // 11 MiB of resident carriers less 7.375 MiB, and 1 MiB less 0.5.
    EXPECT_THAT(text, ContainsRegex("free in the allocators' carriers +4.1 MiB"));
    EXPECT_THAT(text, ContainsRegex("malloc, outside of carriers +3.0 MiB"));
    EXPECT_THAT(text, ContainsRegex("unexplained +1.0 MiB +2.5%"));
    EXPECT_THAT(text, ContainsRegex("free in carriers +7.1 MiB"));
    EXPECT_THAT(text, HasSubstr("alpha"));
    EXPECT_THAT(text, ContainsRegex("Largest of 1 kind of processes \\(processes --group-by\\)\n"
                                    "  INITIAL CALL +PROCESSES +MEMORY\n"
                                    "  demo:loop/1 +1 +4.9 KiB\n"));
    // The dump has no tables.
    EXPECT_THAT(text, Not(HasSubstr("ETS table")));
    EXPECT_THAT(text, Not(HasSubstr("binaries by size")));
    EXPECT_THAT(out({"memory", "memory.beamdump", "--json"}), HasSubstr("\"unexplained_bytes\""));
}

TEST_F(MemoryAnswers, PartsOfDifferentMomentsAreSaidToBe) {
    const auto of = [&](records::MemorySourceKind source) {
        SampleDump dump;
        dump.add(alpha_process());
        records::Epoch epoch;
        epoch.set_number(1);
        epoch.set_source(source);
        add_node_memory(dump, true);
        dump.builder().trailer().add_epoch_offset(
            dump.builder().append(format::RecordKind::kEpoch, epoch));
        program_.put("moments.beamdump", dump.finish());
    };
    const auto* const said = "allocators, carriers and resident pages are of different moments";
    of(records::MEMORY_SOURCE_LIVE);
    EXPECT_THAT(out({"memory", "moments.beamdump"}), HasSubstr(said));
    EXPECT_THAT(out({"memory", "moments.beamdump", "--json"}),
                HasSubstr("\"of_one_moment\": false"));
    of(records::MEMORY_SOURCE_STOPPED);
    EXPECT_THAT(out({"memory", "moments.beamdump"}), Not(HasSubstr(said)));
    EXPECT_THAT(out({"memory", "moments.beamdump", "--json"}),
                HasSubstr("\"of_one_moment\": true"));
}

TEST_F(MemoryAnswers, ACoreHasNoResidentParts) {
    program_.put("core.beamdump", memory_dump(false));
    const auto text = out({"memory", "core.beamdump"});
    EXPECT_THAT(text, HasSubstr("Resident memory: 40.0 MiB; the dump does not say what holds it."));
    EXPECT_THAT(text, Not(HasSubstr("unexplained")));
    EXPECT_THAT(text, ContainsRegex("free in carriers +7.1 MiB"));
    EXPECT_THAT(out({"allocators", "core.beamdump"}), ContainsRegex("14.0 MiB +\\? "));
}

TEST_F(MemoryAnswers, WithoutRecordsNothingIsClaimed) {
    const auto text = out({"memory", "sample.beamdump"});
    EXPECT_THAT(text, HasSubstr("does not have the categories"));
    EXPECT_THAT(text, Not(HasSubstr("free in carriers")));
    const Ran none = program_.run({"allocators", "sample.beamdump"});
    EXPECT_EQ(none.status, 1);
    EXPECT_THAT(none.err, HasSubstr("the dump has no allocators: it was captured"));
}

TEST_F(MemoryAnswers, TheSummaryHasTheCategories) {
    EXPECT_THAT(out({"memory.beamdump"}),
                ContainsRegex("Memory, as the node counted it \\(erlang:memory/0\\)\n"
                              "  total +20.0 MiB  ####################\n"));
    EXPECT_THAT(out({"memory.beamdump"}),
                ContainsRegex("Resident memory by holder, of 40.0 MiB\n"
                              "  kept by mseg_alloc for later +12.0 MiB  30.0%  ############\n"));
    EXPECT_THAT(out({"summary", "memory.beamdump", "--json"}), HasSubstr("\"node_memory\""));
}

TEST_F(MemoryAnswers, ValuesByUnverifiedFieldsAreNamed) {
    program_.put("marked.beamdump",
                 memory_dump(true, {.name = "otp-24",
                                    .release = "24",
                                    .unverified_fields = {"ErtsMemMapper.size.os.used"}}));
    EXPECT_THAT(out({"allocators", "marked.beamdump"}),
                HasSubstr("no check could verify os_bytes"));
}

TEST_F(MemoryAnswers, ACutDumpHasThem) {
    auto cut = memory_dump();
    cut.resize(cut.size() - 60);
    program_.put("cut.beamdump", cut);
    const Ran ran = program_.run({"allocators", "cut.beamdump"});
    EXPECT_EQ(ran.status, 3);
    EXPECT_THAT(ran.out, ContainsRegex("eheap_alloc +5 +14.0 MiB"));
}

constexpr const char* kCrashDump = R"(=erl_crash_dump:0.5
Sun Nov 22 02:18:55 2026
Slogan: boom
System version: Erlang/OTP 25 [erts-13.1.5] [source] [64-bit] [smp:2:2]
=memory
total: 13124952
processes: 3857080
=allocator:sys_alloc
option e: true
=allocator:eheap_alloc[0]
versions: 0.9 3.0
option t: 3
mbcs blocks[eheap_alloc] count: 3 47 47
mbcs blocks[eheap_alloc] size: 4096 333904 333904
mbcs blocks[fix_alloc] count: 0 0 0
mbcs blocks[fix_alloc] size: 0 0 0
mbcs carriers: 1 2 2
mbcs mseg carriers: 0
mbcs carriers size: 262144 786432 786432
mbcs mseg carriers size: 0
mbcs_pool blocks[eheap_alloc] count: 1
mbcs_pool blocks[eheap_alloc] size: 512
mbcs_pool carriers: 1
mbcs_pool carriers size: 131072
sbcs carriers: 0 0 0
sbcs carriers size: 0 0 0
=allocator:eheap_alloc[1]
mbcs blocks: 5 5 5
mbcs blocks size: 1024 1024 1024
mbcs carriers: 1 1 1
mbcs carriers size: 131072 131072 131072
sbcs carriers: what?
=allocator:fix_alloc
fix type: link 0 0
fix type: proc 4656 3880
fix type: broken
mbcs carriers: 1 1 1
mbcs carriers size: 65536 65536 65536
=allocator:mseg_alloc[0]
cached_segments: 2
=allocator:mseg_alloc[1]
cached_segments: 3
=allocator:erts_mmap.default_mmap
os mmap size used: 14680064
=allocator:test_alloc
option e: false
=proc:<0.9.0>
State: Waiting
Memory: 5832
=end
)";

TEST_F(MemoryAnswers, CrashDumpsAnswerAsFarAsTheirSectionsGo) {
    const std::string_view text = kCrashDump;
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    program_.put("crash.beamdump", {bytes.begin(), bytes.end()});
    const auto allocators = out({"allocators", "crash.beamdump"});
    EXPECT_THAT(allocators, ContainsRegex("eheap_alloc +3 +512.0 KiB +\\? +9 +5.5 KiB +1.0% +128"));
    EXPECT_THAT(allocators, ContainsRegex("fix_alloc +1 +64.0 KiB"));
    EXPECT_THAT(allocators, Not(HasSubstr("sys_alloc")));
    EXPECT_THAT(allocators, Not(HasSubstr("test_alloc")));
    EXPECT_THAT(allocators, HasSubstr("for later: 5 segments\n"));
    EXPECT_THAT(allocators, HasSubstr(": 14.0 MiB\n"));
    EXPECT_THAT(allocators, ContainsRegex("proc +4.5 KiB +3.8 KiB"));
    EXPECT_THAT(allocators, Not(HasSubstr("Free blocks")));
    const Ran carriers = program_.run({"allocators", "crash.beamdump", "--carriers"});
    EXPECT_EQ(carriers.status, 1);
    EXPECT_THAT(carriers.err, HasSubstr("the dump has no carriers: it is a crash dump"));
    const auto memory = out({"memory", "crash.beamdump"});
    EXPECT_THAT(memory, ContainsRegex("total +12.5 MiB\n  processes +3.7 MiB\n"));
    EXPECT_THAT(memory, Not(HasSubstr("Resident")));
}

}  // namespace
}  // namespace beamdump::test
