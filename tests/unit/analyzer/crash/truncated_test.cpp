// Texts of crash dumps that break off: the last line is unknown, and so is what would follow.
#include "program.h"
#include "support/encrypted_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace beamdump::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kCutHead =
    "=erl_crash_dump:0.5\nSat Nov 28 00:00:00 2026\nSlogan: boom\nSystem version: Erlang/OTP 27 "
    "[erts-15.2] [source] [64-bit] [smp:4:4] [ds:4:4:10] [async-threads:1] [jit]\n";
const std::string kCutFacts =
    "State: Waiting\nMessage queue length: 0\nReductions: 12026\nStack+heap: 376\nOldHeap: 0\n"
    "Heap unused: 300\nOldHeap unused: 0\nMemory: 2848\n"
    "Program counter: 0x00007f0000001000 (a:b/1 + 8)\n";
const std::string kCutProcess = kCutHead + "Atoms: 14917\n=proc:<0.9.0>\n" + kCutFacts;

class Truncated : public ::testing::Test {
  protected:
    /// What is said of the text, and of its conversion: the same.
    std::string answer(const std::string& text, std::vector<std::string> words) {
        put(text, "text.beamdump");
        EXPECT_EQ(
            program_.run({"convert", "text.beamdump", "-o", "made.beamdump", "--force"}).status,
            text.ends_with("=end") ? 0 : 3);
        words.insert(words.begin() + 1, "text.beamdump");
        auto said = program_.run(words).out;
        words[1] = "made.beamdump";
        if (words.front() != "summary") {  // which has commands with the file's name
            EXPECT_EQ(after_dump(program_.run(words).out), after_dump(said)) << words.front();
        }
        return said;
    }
    std::string answer_in_json(const std::string& text, std::vector<std::string> words) {
        words.emplace_back("--json");
        return answer(text, std::move(words));
    }
    void put(const std::string& text, const std::string& name) {
        const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
        program_.put(name, std::vector(bytes, bytes + text.size()));
    }

    Program program_;

  private:
    /// Without what is different of two files.
    static std::string after_dump(const std::string& out) {
        const auto head = out.find("\"complete\"");
        return head == std::string::npos ? out : out.substr(head);
    }
};

TEST_F(Truncated, ALastLineWithoutAnEndTellsNothing) {
    const auto head = kCutHead + "Atoms: 14917\n";
    EXPECT_THAT(answer_in_json(kCutHead + "Atoms: 14", {"atoms"}), Not(HasSubstr("\"count\"")));
    EXPECT_THAT(answer_in_json(head + "=proc:<0.9.0>\nState: Waiting\nMemory: 28", {"processes"}),
                AllOf(HasSubstr("<0.9.0>"), Not(HasSubstr("\"memory\""))));
    EXPECT_THAT(answer_in_json(head + "=proc:<0.9.0>\nState: Waiting\nLink list: [<0.1",
                               {"process", "<0.9.0>"}),
                Not(HasSubstr("<0.1")));
    EXPECT_THAT(answer_in_json(head + "=memory\nprocesses: 12\ntotal: 425", {"memory"}),
                AllOf(HasSubstr("\"processes\": 12"), Not(HasSubstr("\"total\""))));
    EXPECT_THAT(answer_in_json(head + "=timer:<0.98.0>\nMessage: x\nTime left: 71", {"timers"}),
                AllOf(HasSubstr("<0.98.0>"), Not(HasSubstr("left_ms"))));
    EXPECT_THAT(answer_in_json(head + "=binary:188E1EE4EF0\n1", {"binaries"}),
                Not(HasSubstr("\"size_bytes\"")));
    EXPECT_THAT(answer_in_json(
                    head + "=ets:<0.12.0>\nTable: code\nName: code\nObjects: 2\nWords: 3", {"ets"}),
                AllOf(HasSubstr("\"size\": 2"), Not(HasSubstr("memory"))));
    EXPECT_THAT(answer_in_json(head + "=port:#Port<0.5>\nConnected: <0.1.0>\nInput: 1", {"ports"}),
                AllOf(HasSubstr("<0.1.0>"), Not(HasSubstr("\"input\""))));
    EXPECT_THAT(
        answer(head + "=mod:lists\nCurrent size: 9\n=mod:kern", {"modules"}),
        AllOf(HasSubstr("at least 1 module instance"), HasSubstr("lists"), Not(HasSubstr("kern"))));
}

TEST_F(Truncated, ALastLineOfAStackOrAHeapTellsNothing) {
    const auto stack = kCutProcess +
                       "=proc_stack:<0.9.0>\n"
                       "0x00007f0000002000:SReturn addr 0x1400 (<terminate process normally>)\n";
    EXPECT_THAT(answer(stack + "y0:I12", {"backtrace", "<0.9.0>"}), Not(HasSubstr("12")));
    EXPECT_THAT(answer(stack + "y0:H7F0000003000\n=proc_heap:<0.9.0>\n7F0000003000:lI1|I12",
                       {"backtrace", "<0.9.0>"}),
                AllOf(HasSubstr("#Absent<0x00007f0000003000>"), Not(HasSubstr("12]"))));
}

TEST_F(Truncated, TheMessageTellsWhereTheFileEnds) {
    const auto text = kCutProcess + "Internal St";
    put(text, "text.beamdump");
    EXPECT_THAT(program_.run({"processes", "text.beamdump"}).err,
                HasSubstr(fmt::format("breaks off after {} bytes, in its section =proc:<0.9.0>",
                                      text.size())));
}

TEST_F(Truncated, ALastLineOfAnEncryptedTextTellsNothing) {
    const EncryptionKey key;
    put(key.encrypt(kCutHead + "Atoms: 14"), "text.beamdump");
    put(key.pem(), "key.beamdump");
    const Ran ran =
        program_.run({"atoms", "text.beamdump", "--json", "--key", program_.path("key.beamdump")});
    EXPECT_THAT(ran.out, AllOf(HasSubstr("\"text_complete\": false"), Not(HasSubstr("\"count\""))))
        << ran.err;
}

TEST_F(Truncated, AnEndWithoutALineEndIsWhole) {
    EXPECT_THAT(answer_in_json(kCutProcess + "=end", {"processes"}),
                AllOf(Not(HasSubstr("text_complete")), HasSubstr("\"memory\": 2848")));
}

TEST_F(Truncated, AValueBehindTheCutIsNoNumber) {
    const auto text = kCutHead + "Atoms: 14917\n=scheduler:1\nScheduler Sleep Info Flags: S\n";
    for (const std::string command : {"processes", "tree", "waits", "ets", "ports", "timers",
                                      "nodes", "binaries", "atoms", "memory", "summary"}) {
        const auto said = answer_in_json(text, {command});
        for (const std::string member :
             {"total", "matching", "roots", "waiting", "targets", "cycle_count", "named",
              "text_bytes", "group_count", "total_memory_bytes", "processes\": 0",
              "binaries_captured"}) {
            EXPECT_THAT(said, Not(HasSubstr("\"" + member))) << command;
        }
    }
    EXPECT_THAT(answer(text, {"summary"}), ContainsRegex("processes +unknown\n"));
    for (const std::string command : {"processes", "tree"}) {
        EXPECT_EQ(answer(text, {command}),
                  "no processes before the place where the crash dump breaks off\n");
    }
    EXPECT_EQ(answer(text, {"waits"}),
              "no stacks before the place where the crash dump breaks off\n");
    EXPECT_EQ(answer(text, {"processes", "--group-by", "status"}),
              "no processes before the place where the crash dump breaks off\n");
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"processes", "--group-by", "status"},
          {"ports", "--group-by", "connected"}}) {
        EXPECT_THAT(answer_in_json(text, words), Not(HasSubstr("group_count")));
    }
    put(text, "text.beamdump");
    EXPECT_THAT(program_.run({"export", "json", "text.beamdump"}).out,
                Not(HasSubstr("\"total\": 0")));
    EXPECT_THAT(program_.run({"allocators", "text.beamdump"}).err,
                HasSubstr("the crash dump breaks off before its sections of allocators"));
    EXPECT_THAT(program_.run({"persistent-terms", "text.beamdump"}).err,
                HasSubstr("the crash dump breaks off before its section persistent_terms"));
}

TEST_F(Truncated, ANumberWithinTheSectionsIsTheLeast) {
    const std::string port = "=port:#Port<0.5>\nConnected: <0.1.0>\n";
    EXPECT_THAT(answer(kCutProcess, {"processes"}),
                HasSubstr("at least 1 process: the crash dump breaks off before the end of their "
                          "sections\n"));
    EXPECT_THAT(answer(kCutProcess, {"tree"}), HasSubstr("at least 1 process, 1 root"));
    EXPECT_THAT(answer(kCutProcess, {"summary"}),
                HasSubstr("at least 1, with at least 0 messages queued"));
    for (const std::string command : {"processes", "tree", "summary"}) {
        EXPECT_THAT(answer(kCutProcess + port, {command}), Not(HasSubstr("at least")));
    }
    EXPECT_THAT(answer(kCutProcess + port, {"ports"}), HasSubstr("ports: at least 1; the crash"));
    const std::string table = "=ets:<0.12.0>\nTable: code\nName: code\nObjects: 2\nWords: 3\n";
    EXPECT_THAT(answer(kCutProcess + port + table, {"ports"}), Not(HasSubstr("at least")));
    EXPECT_THAT(answer(kCutProcess + port + table, {"ets"}), HasSubstr("at least 1 ETS table use"));
    EXPECT_THAT(answer(kCutProcess + port + table + "=timer:<0.9.0>\nTime left: 7\n", {"ets"}),
                Not(HasSubstr("at least")));
}

}  // namespace
}  // namespace beamdump::test
