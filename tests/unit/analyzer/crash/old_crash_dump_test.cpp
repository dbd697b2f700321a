// What is shown of crash dumps of old releases and of nodes with words of four bytes.
#include "program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A stack whose last word is a return address at 0x8000FF8, in a block of 512 words; a tuple in
/// the heap, and one that no line has.
std::string text_of(std::string_view version) {
    return fmt::format(
        "=erl_crash_dump:0.1\nSun Nov 22 02:18:55 2009\nSlogan: boom\nSystem version: {}\n"
        "Atoms: 9747\n=proc:<0.9.0>\nState: Waiting\nName: shop\nMessage queue length: 0\n"
        "Number of heap fragments: 0\nHeap fragment data: 0\nReductions: 10\n"
        "Stack+heap: 512\nOldHeap: 100\nHeap unused: 412\nOldHeap unused: 0\n"
        "Program counter: 0x08122050 (a:b/0 + 8)\n"
        "=proc_stack:<0.9.0>\ny0:H8000800\ny1:H8000A00\n"
        "0x08000ff8:SReturn addr 0x8123460 (a:c/1 + 8)\n"
        "=proc_heap:<0.9.0>\n8000800:t2:I1,I2\n"
        "=node:'me@here'\n=end\n",
        version);
}

constexpr std::string_view kSmall = "Erlang R14B04 (erts-5.8.5) [source] [smp:2:2]";
constexpr std::string_view kLarge = "Erlang R15B01 (erts-5.9.1) [source] [64-bit] [smp:2:2]";

class OldCrashDump : public ::testing::Test {
  protected:
    /// The answer about the crash dump, and that about its conversion: the same.
    std::string answer(std::string_view version, std::vector<std::string> words) {
        const std::string text = text_of(version);
        const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
        program_.put("erl_crash.beamdump", std::vector(bytes, bytes + text.size()));
        EXPECT_EQ(program_.run({"convert", "erl_crash.beamdump", "-o", "made.beamdump", "--force"})
                      .status,
                  0);
        words.insert(words.begin() + 1, "erl_crash.beamdump");
        const auto direct = program_.run(words).out;
        words[1] = "made.beamdump";
        const auto converted = program_.run(words).out;
        if (words.front() != "summary") {  // which says how large each file is
            EXPECT_EQ(after_head(direct), after_head(converted));
        }
        return direct;
    }

  private:
    /// Without what each says of its own file.
    static std::string after_head(const std::string& out) {
        const auto head = out.find("\"complete\"");
        return head == std::string::npos ? out : out.substr(head);
    }

    Program program_;
};

TEST_F(OldCrashDump, AddressesOfANodeWithWordsOfFourBytesAreItsOwn) {
    EXPECT_EQ(answer(kSmall, {"backtrace", "shop"}),
              "Program counter: 0x08122050 (a:b/0 + 8)\n"
              "y(0)     {1,2}\n"
              "y(1)     #Absent<0x08000a00>\n"
              "\n0x08000ff8 Return addr 0x08123460 (a:c/1 + 8)\n");
    EXPECT_THAT(answer(kSmall, {"backtrace", "shop", "--json"}),
                AllOf(HasSubstr("\"stack_address\": \"0x8000ff8\""),
                      HasSubstr("\"term\": \"#Absent<0x08000a00>\"")));
    EXPECT_THAT(answer(kSmall, {"heap", "shop", "--terms"}), HasSubstr("\n  0x8000800  heap"));
    EXPECT_THAT(answer(kSmall, {"process", "shop"}), HasSubstr("  stack  0x8000ff0  12 B"));
    EXPECT_THAT(answer(kLarge, {"backtrace", "shop"}),
                AllOf(HasSubstr("#Absent<0x0000000008000a00>"),
                      HasSubstr("\n0x0000000008000ff8 Return addr 0x0000000008123460")));
}

TEST_F(OldCrashDump, WordsOfANodeWithWordsOfFourBytesHaveFour) {
    EXPECT_THAT(answer(kSmall, {"process", "shop"}),
                AllOf(HasSubstr("heap_size        512 words (2.0 KiB)"),
                      HasSubstr("stack_size       3 words (12 B)")));
    EXPECT_THAT(answer(kLarge, {"process", "shop"}),
                HasSubstr("heap_size        512 words (4.0 KiB)"));
    EXPECT_THAT(answer(kSmall, {"heap", "shop"}), HasSubstr("3 words (12 B)"));
}

TEST_F(OldCrashDump, MemoryIsOfTheHeapsAndSaysSoWhereTheTextTellsNone) {
    EXPECT_THAT(
        answer(kSmall, {"processes"}),
        AllOf(HasSubstr("memory of processes: stack, heap, old heap and heap fragments only; the "
                        "crash dump has no more\n"),
              HasSubstr("2.4 KiB")));
    EXPECT_THAT(answer(kLarge, {"processes", "--json"}),
                AllOf(HasSubstr("\"process_memory\": \"stack, heap, old heap and heap fragments\""),
                      HasSubstr("\"memory\": 4896")));
    EXPECT_THAT(
        answer(kLarge, {"process", "shop"}),
        HasSubstr(
            "4.8 KiB (stack, heap, old heap and heap fragments only: the crash dump has no more)"));
    EXPECT_THAT(answer(kLarge, {"summary", "--json"}), HasSubstr("\"processes\": 4896"));
    EXPECT_THAT(answer(kLarge, {"summary"}),
                HasSubstr("stack, heap, old heap and heap fragments only;"));
    // R16B01 and later tell it: where they do not, nothing is made up.
    const auto newer =
        answer("Erlang R16B03 (erts-5.10.4) [source] [64-bit]", {"processes", "--json"});
    EXPECT_THAT(newer, AllOf(Not(HasSubstr("process_memory")), Not(HasSubstr("\"memory\""))));
}

TEST(OldCrashDumps, FragmentsAreOfTheMemoryAndOfTheHeaps) {
    const std::string text =
        "=erl_crash_dump:0.1\nMon Apr 10 20:56:26 2006\nSlogan: x\nSystem version: Erlang (BEAM) "
        "emulator version 5.6.5 [source] [smp:2]\nAtoms: 1\n=proc:<0.2.0>\nState: Waiting\n"
        "Message queue length: 0\nNumber of heap fragments: 1\nHeap fragment data: 194\n"
        "Stack+heap: 377\nOldHeap: 0\nHeap unused: 100\nOldHeap unused: 0\n=end\n";
    Program program;
    const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
    program.put("erl_crash.beamdump", std::vector(bytes, bytes + text.size()));
    EXPECT_THAT(program.run({"summary", "erl_crash.beamdump", "--json"}).out,
                AllOf(HasSubstr("\"processes\": 2284"), HasSubstr("\"process_heaps\": 2284")));
    EXPECT_THAT(program.run({"processes", "erl_crash.beamdump", "--json"}).out,
                HasSubstr("\"memory\": 2284"));
}

TEST(CrashDumpAdvice, NamesNoCaptureOfItsNode) {
    const std::string text =
        "=erl_crash_dump:0.5\nSun Nov 22 02:18:55 2025\nSlogan: boom\n"
        "System version: Erlang/OTP 25 [erts-13.1.5] [source] [64-bit] [smp:2:4]\nAtoms: 9747\n"
        "=proc:<0.9.1>\nState: Garbing\nName: shop\nStack+heap: 233\n=end\n";
    Program program;
    const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
    program.put("erl_crash.beamdump", std::vector(bytes, bytes + text.size()));
    for (const std::string command : {"process", "heap"}) {
        const Ran ran = program.run({command, "erl_crash.beamdump", "shop"});
        EXPECT_EQ(ran.status, 3) << command;
        EXPECT_THAT(ran.out, HasSubstr("VOID: it was collecting garbage"));
        EXPECT_THAT(ran.out, Not(HasSubstr("beamdump-capture")));
    }
}

}  // namespace
}  // namespace beamdump::test
