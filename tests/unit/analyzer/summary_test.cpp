#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <span>

namespace beamdump::test {
namespace {

/// File sizes depend on the compressor.
std::string without_file_sizes(const std::string& text) {
    return std::regex_replace(text, std::regex("sample.beamdump, .*"), "sample.beamdump, SIZES");
}

TEST(Summary, TextIsAsItShouldBe) {
    Program program;
    const Ran ran = program.run({"sample.beamdump"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_EQ(without_file_sizes(ran.out), R"(node        sample@host
release     Erlang/OTP 25.2.3, ERTS 13.1.5, JIT
up          1 min 40 s at capture, 2023-11-14 22:15:00 UTC
host        box, Linux 6.1, OS process 4711
schedulers  2
capture     mode freeze, node stopped for 9.5 ms, took 12 ms
read        5.0 MiB of the node's memory in 123 reads, first 64 B of each binary
dump        sample.beamdump, SIZES
processes   4 of at most 262,144, with 3 messages queued
busy        3 waiting, 1 running
consistent  3 processes; 1 void: 1 running

Findings: not complete
  not looked for, or not everywhere:
    cgroup_memory: the dump has no memory cgroups
    emulator_waits: the dump has no state of the emulator: it was captured by an older version, or they could not be read (the warnings of summary tell)
    process_starts: the dump does not tell how many processes were started meanwhile, and what work the node did
    many_relations: the dump does not count links and monitors
    many_resources: the dump has no types of NIF resources: it was captured by an older version, or they could not be read (the warnings of summary tell)
    traced: the dump does not tell which processes are traced
    ets_table: the dump has no ETS tables: they were not captured, or the part of the file with them is missing
    fixed_table: the dump has no ETS tables: they were not captured, or the part of the file with them is missing
    binary_memory: the dump does not tell the size of all binaries
    pinned_binaries: reads the terms of all processes that hold binaries
    atom_table: the dump does not tell how many atoms the node may have
    port_limit: the dump does not tell how many ports the node may have, or has no ports
    carriers: the dump has no allocators
    lazy_free: the dump does not tell LazyFree memory
      beamdump-analyze summary sample.beamdump --findings full

Memory, as far as captured
  resident   40.0 MiB  as the operating system counts it
  processes   9.9 KiB
  code        4.0 KiB  1 module instances
  atoms          47 B  8 atoms, their text only

Largest processes
  PID      NAME OR INITIAL CALL   MEMORY  REDUCTIONS  MESSAGES  STATUS          CURRENT FUNCTION
  <0.1.0>  alpha                 4.9 KiB   1,234,567         2  waiting         demo:loop/1
  <0.2.0>  'Needs Quotes'        2.9 KiB          20         0  waiting         demo:loop/1
  <0.3.0>  secret                2.0 KiB          10         1  waiting         demo:loop/1
  <0.4.0>  demo:loop/3             100 B          99         0  running (void)  demo:loop/3

Longest message queues
  PID      NAME OR INITIAL CALL   MEMORY  REDUCTIONS  MESSAGES  STATUS   CURRENT FUNCTION
  <0.1.0>  alpha                 4.9 KiB   1,234,567         2  waiting  demo:loop/1
  <0.3.0>  secret                2.0 KiB          10         1  waiting  demo:loop/1
)");
}

TEST(Summary, SaysNothingOfWhatIsUnknown) {
    Program program;
    DumpBuilder builder({.threads = 1, .frame_bytes = 4096});
    program.put("bare.beamdump", builder.finish());
    const Ran text = program.run({"bare.beamdump"});
    EXPECT_EQ(text.status, 0);
    EXPECT_THAT(text.out, ::testing::HasSubstr("node        unknown\n"));
    EXPECT_THAT(text.out, ::testing::HasSubstr("consistent  unknown\n"));
    const Ran json = program.run({"bare.beamdump", "--json"});
    EXPECT_THAT(json.out, ::testing::Not(::testing::HasSubstr("null")));
    EXPECT_THAT(json.out, ::testing::Not(::testing::HasSubstr("\"boot_us\"")));
    EXPECT_THAT(json.out, ::testing::Not(::testing::HasSubstr("\"processes_void\"")));
    const std::string_view cut = "=erl_crash_dump:0.5\n";
    const auto bytes = std::as_bytes(std::span(cut));
    program.put("cut.beamdump", {bytes.begin(), bytes.end()});
    const Ran crash = program.run({"cut.beamdump"});
    EXPECT_EQ(crash.status, 3);
    EXPECT_THAT(crash.out, ::testing::HasSubstr("slogan      unknown\ncrashed     unknown\n"));
}

TEST(Summary, ReadsNoProcess) {
    Program program;
    DumpShape shape;
    shape.processes = 400;
    shape.heap_words = 2000;
    program.put("large.beamdump", DumpBuilder::whole({.threads = 1, .frame_bytes = 4096}, shape));
    const Ran ran = program.run({"large.beamdump", "--stats"});
    std::smatch frames;
    ASSERT_TRUE(std::regex_search(ran.err, frames, std::regex("frames_decompressed=([0-9]+) ")));
    EXPECT_LE(std::stoi(frames[1]), 6);
}

}  // namespace
}  // namespace beamdump::test
