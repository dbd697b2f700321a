// The command crash-dump, on synthetic dumps.
#include "program.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace beamdump::test {

namespace {

TEST(CrashDump, HasTheSectionsOfANodeAndItsProcesses) {
    Program program;
    const Ran ran = program.run({"crash-dump", "sample.beamdump", "--sensitive"});
    EXPECT_TRUE(ran.out.starts_with("=erl_crash_dump:0.5\n")) << ran.out.substr(0, 100);
    EXPECT_TRUE(ran.out.ends_with("\n=end\n"));
    for (const std::string line :
         {"Slogan: No crash: beamdump-capture 0.1.0 dumped the running node (OS process 4711)",
          "System version: Erlang/OTP 25 [erts-13.1.5] [64-bit] [smp:2] [jit]\n", "\n=memory\n",
          "\n=node:'sample@host'\n", "\n=loaded_modules\n", "\n=mod:demo\n", "\n=literals\n",
          "\n=atoms\n", "\nSpawned as: demo:loop/1\n", "\nState: Waiting\n", "\narity = 0\n",
          "Link list: [<0.1.0>, {to,<0.2.0>,#Ref<0.9.8.7>}]\n"}) {
        if (line != "\narity = 0\n") {
            EXPECT_NE(ran.out.find(line), std::string::npos) << line;
        } else {
            EXPECT_EQ(ran.out.find(line), std::string::npos) << "not in the dump";
        }
    }
}

TEST(CrashDump, WithholdsTermsOfSensitiveAndVoidProcesses) {
    Program program;
    SampleDump sample;
    sample.add({.number = 1});
    sample.add({.number = 2, .sensitive = true});
    sample.add({.number = 3, .void_reason = records::VOID_REASON_RUNNING});
    program.put("some.beamdump", sample.finish());
    const Ran ran = program.run({"crash-dump", "some.beamdump"});
    EXPECT_EQ(ran.status, 3);
    for (const std::string section :
         {"=proc:<0.1.0>\n", "=proc:<0.2.0>\n", "=proc:<0.3.0>\n", "=proc_stack:<0.1.0>\n"}) {
        EXPECT_NE(ran.out.find(section), std::string::npos) << section;
    }
    EXPECT_EQ(ran.out.find("=proc_stack:<0.2.0>"), std::string::npos);
    EXPECT_EQ(ran.out.find("=proc_stack:<0.3.0>"), std::string::npos);
    EXPECT_NE(
        ran.err.find("missing from the text of 3 processes: the terms of 1 process whose copy is "
                     "not consistent; the terms of 1 process flagged sensitive"),
        std::string::npos)
        << ran.err;
}

TEST(CrashDump, WritesEachObjectOnce) {
    Program program;
    SampleDump sample;
    const std::uint64_t heap = heap_of(1);
    // {Pair, Pair}, where Pair is [alpha|loop]; behind them a cell that nothing refers to.
    sample.add({.number = 1,
                .heap = {tuple_header(2), list_word(heap + 24), list_word(heap + 24),
                         atom_word(kAlphaAtom), atom_word(kLoopAtom), small_word(1), small_word(2)},
                .stack = {boxed_word(heap), small_word(7), kNormalExit},
                .messages = {boxed_word(heap)}});
    program.put("some.beamdump", sample.finish());
    const Ran ran = program.run({"crash-dump", "some.beamdump"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    const std::string object = fmt::format("{:X}", heap);
    const std::string cell = fmt::format("{:X}", heap + 24);
    const std::string expected =
        "=proc_messages:<0.1.0>\nH" + object + ":N\n=proc_stack:<0.1.0>\ny0:H" + object +
        "\ny1:I7\n" + fmt::format("0x{:016x}", stack_of(1) + 16) +
        ":SReturn addr 0x9000 (<terminate process normally>)\n"
        "=proc_heap:<0.1.0>\n" +
        object + ":t2:H" + cell + ",H" + cell + "\n" + cell + ":lA5:alpha|A4:loop\n=literals\n";
    EXPECT_NE(ran.out.find(expected), std::string::npos) << ran.out;
}

TEST(CrashDump, WritesAFileAndReplacesNoneUnasked) {
    Program program;
    const std::string file = program.path("erl_crash.dump");
    EXPECT_EQ(program.run({"crash-dump", "later.beamdump", "--sensitive", "-o", file}).out, "");
    std::ifstream stream(file, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    EXPECT_TRUE(text.ends_with("\n=end\n"));
    EXPECT_EQ(std::filesystem::status(file).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    EXPECT_FALSE(std::filesystem::exists(file + ".partial"));
    const Ran again = program.run({"crash-dump", "later.beamdump", "-o", file});
    EXPECT_EQ(again.status, 1);
    EXPECT_NE(again.err.find("--force"), std::string::npos) << again.err;
    EXPECT_NE(program.run({"crash-dump", "later.beamdump", "-o", file, "--force"}).status, 1);
}

TEST(CrashDump, EndsWhereItsReaderIsGone) {
    Program program;
    const Ran ran = program.run({"crash-dump", "sample.beamdump"}, 10);
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.out, "");
}

}  // namespace

}  // namespace beamdump::test
