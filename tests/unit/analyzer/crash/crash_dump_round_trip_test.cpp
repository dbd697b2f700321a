// A crash dump, its conversion, and the text that is written of that: the same answers.
#include "program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct CrashText {
    std::string system = "Erlang/OTP 25 [erts-13.1.5] [source] [64-bit] [smp:2:2] [ds:2:2:10]";
    std::string messages = "H7FCA00000200:N\n";
    /// A tuple; a binary, parts of it and of one on the heap; a fun; an atom with a line end.
    std::string heap =
        "7FCA00000200:t5:H7FCA00000240,H7FCA00000268,H7FCA00000290,H7FCA000002C0,A3:a\nb\n"
        "7FCA00000240:YsAB0010:2:3\n7FCA00000268:Ys7FCA00000300:1:9\n"
        "7FCA00000290:E3F:"
        "g3AAAAA9AQAAAAAAAAAAAAAAAAAAAAAAAAADAAAAAHcEc2hvcGEDYQlYdwdtZUBoZXJlAAAACAAAAAAAAAAA\n"
        "7FCA000002C0:B-36893488147419103232\n"
        "7FCA00000300:YhA:YWJjZGVmZ2hpag==\n";
    std::string tail = "=end\n";

    [[nodiscard]] std::string text() const {
        return "=erl_crash_dump:0.5\nSun Nov 22 02:18:55 2026\nSlogan: boom, in\ntwo lines\n"
               "System version: " +
               system +
               "\nAtoms: 9747\nCalling Thread: scheduler:1\n=scheduler:1\nScheduler Sleep Info "
               "Flags: SLEEPING\n=memory\ntotal: 1000\nprocesses: 600\n=proc:<0.9.1>\nState: "
               "Suspended\nName: 'my server'\nSpawned as: proc_lib:init_p/5\nCurrent call: "
               "ets:select_trap/1\nSpawned by: <0.8.0>\nMessage queue length: 1\nNumber of heap "
               "fragments: 0\nHeap fragment data: 0\nLink list: [<0.8.0>, "
               "{from,{socket,gen_tcp_socket},#Ref<0.1.2.3>}]\nReductions: 4411\nStack+heap: "
               "610\nOldHeap: 0\nHeap unused: 400\nOldHeap unused: 0\nMemory: 5832\nProgram "
               "counter: 0x00007fca12a085bc (unknown function)\narity = 0\nInternal State: "
               "ACT_PRIO_HIGH | USR_PRIO_HIGH | PRQ_PRIO_NORMAL\n=port:#Port<0.4>\nState: "
               "CONNECTED\nSlot: 4\n=ets:<0.9.1>\nSlot: 1\nTable: tab\n=timer:<0.9.1>\nName: "
               "x\n=node:'me@here'\n=mod:shop\nCurrent size: 17\n=fun\nModule: shop\n"
               "=proc_messages:<0.9.1>\n" +
               messages +
               "=proc_stack:<0.9.1>\ny0:H7FCA00000200\n0x00007fca00001000:SReturn addr 0x12A08400 "
               "(shop:loop/1 + 8)\n=proc_heap:<0.9.1>\n" +
               heap + "=binary:AB0010\n6:AAECYWJj\n=atoms\n'my server'\n" + tail;
    }
};

class CrashDumpRoundTrip : public ::testing::Test {
  protected:
    void put(const std::string& name, const std::string& text) {
        const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
        program_.put(name, std::vector(bytes, bytes + text.size()));
    }

    /// What is said of a dump, without what it says of its own file.
    Ran ask(const std::string& dump, std::vector<std::string> arguments) {
        arguments.insert(arguments.begin() + 1, dump);
        Ran ran = program_.run(std::move(arguments));
        const std::regex file("\"(file|file_bytes)\": [^\n]*\n|(^|\n)dump  [^\n]*|" + dump);
        ran.out = std::regex_replace(ran.out, file, "");
        return ran;
    }

    /// Makes converted.beamdump of text.beamdump, and again.beamdump of that.
    void round_trip(const CrashText& dump) {
        put("text.beamdump", dump.text());
        convert();
        const Ran written = program_.run({"crash-dump", "converted.beamdump"});
        written_ = written.out;
        put("again.beamdump", written.out);
    }
    Ran convert() {
        return program_.run(
            {"convert", "text.beamdump", "-o", program_.path("converted.beamdump"), "--force"});
    }

    void expect_same(const std::string& one, const std::string& other) {
        const std::vector<std::vector<std::string>> questions = {{"summary"},
                                                                 {"processes"},
                                                                 {"process", "<0.9.1>"},
                                                                 {"backtrace", "<0.9.1>"},
                                                                 {"messages", "<0.9.1>"},
                                                                 {"dictionary", "<0.9.1>"},
                                                                 {"heap", "<0.9.1>"},
                                                                 {"sections"},
                                                                 {"sections", "ets"}};
        for (const auto& question : questions) {
            for (const bool json : {false, true}) {
                auto arguments = question;
                if (json) {
                    arguments.emplace_back("--json");
                }
                const Ran first = ask(one, arguments);
                const Ran second = ask(other, arguments);
                EXPECT_EQ(first.status, second.status) << question.front() << second.err;
                EXPECT_EQ(first.out, second.out) << question.front();
                EXPECT_EQ(first.err, second.err) << question.front();
            }
        }
    }

    Program program_;
    std::string written_;
};

TEST_F(CrashDumpRoundTrip, HasTheDumpsOwnHeadAndSections) {
    round_trip({});
    for (const std::string part :
         {"=erl_crash_dump:0.5\nSun Nov 22 02:18:55 2026\nSlogan: boom, in\ntwo lines\nSystem "
          "version: Erlang/OTP 25 [erts-13.1.5] [source] [64-bit] [smp:2:2] [ds:2:2:10]\nAtoms: "
          "9747\nCalling Thread: scheduler:1\n=scheduler:1\n",
          "=port:#Port<0.4>\nState: CONNECTED\nSlot: 4\n=ets:<0.9.1>\nSlot: 1\nTable: tab\n",
          "=mod:shop\nCurrent size: 17\n=fun\nModule: shop\n", "=atoms\n'my server'\n",
          "Current call: ets:select_trap/1\n", "{from,{socket,gen_tcp_socket},#Ref<0.1.2.3>}]\n",
          "Heap unused: 400\n", "=memory\ntotal: 1000\nprocesses: 600\n"}) {
        EXPECT_THAT(written_, HasSubstr(part));
    }
    EXPECT_TRUE(written_.ends_with("\n=end\n"));
    expect_same("text.beamdump", "converted.beamdump");
    expect_same("text.beamdump", "again.beamdump");
    EXPECT_EQ(ask("text.beamdump", {"backtrace", "<0.9.1>"}).status, 0);
    EXPECT_EQ(program_.run({"crash-dump", "text.beamdump"}).out, written_);
}

TEST_F(CrashDumpRoundTrip, KeepsANodeWithWordsOfFourBytes) {
    CrashText dump{.system = "Erlang R16B03 (erts-5.10.4) [source] [smp:2:2]"};
    const std::regex high("7FCA0");
    dump.heap = std::regex_replace(dump.heap, high, "7FC0");
    dump.messages = std::regex_replace(dump.messages, high, "7FC0");
    // The last eight bytes of a function, before another's.
    put("text.beamdump",
        std::regex_replace(std::regex_replace(dump.text(), high, "7FC0"),
                           std::regex("0x00007fca00001000:SReturn[^\n]*\n"),
                           "$&0x00007fca00001004:SReturn addr 0x12A083EC (shop:last/0 + 36)\n"));
    convert();
    EXPECT_THAT(ask("text.beamdump", {"backtrace", "<0.9.1>"}).out,
                HasSubstr("(shop:last/0 + 36)"));
    put("again.beamdump", program_.run({"crash-dump", "converted.beamdump"}).out);
    expect_same("text.beamdump", "converted.beamdump");
    expect_same("text.beamdump", "again.beamdump");
}

/// The atoms of lines on the heap are not in the atom table when the first message is read.
TEST_F(CrashDumpRoundTrip, MessagesAreCountedByAtomsOfTheHeap) {
    CrashText dump{.messages = "H7FCA00000200:N\nH7FCA00000228:N\n",
                   .heap =
                       "7FCA00000200:t2:A9:$gen_cast,H7FCA00000260\n"
                       "7FCA00000228:t3:A9:$gen_call,H7FCA00000280,I1\n"
                       "7FCA00000260:t2:A5:hello,I1\n7FCA00000280:t2:P<0.8.0>,I2\n"};
    put("text.beamdump", dump.text());
    convert();
    expect_same("text.beamdump", "converted.beamdump");
    const auto shapes = ask("text.beamdump", {"messages", "<0.9.1>"}).out;
    EXPECT_THAT(shapes, HasSubstr("{'$gen_cast',{hello,_}}"));
    const auto senders = ask("text.beamdump", {"messages", "<0.9.1>", "--by", "sender"}).out;
    EXPECT_THAT(senders, HasSubstr("<0.8.0>"));
}

TEST_F(CrashDumpRoundTrip, AConversionSaysThatItsTextBreaksOff) {
    round_trip({.tail = ""});
    for (const std::string dump : {"text.beamdump", "converted.beamdump"}) {
        const Ran ran = ask(dump, {"processes"});
        EXPECT_EQ(ran.status, 3) << dump;
        EXPECT_THAT(ran.err, HasSubstr("the crash dump breaks off after ")) << dump;
    }
    expect_same("text.beamdump", "converted.beamdump");
    EXPECT_EQ(ask("again.beamdump", {"processes"}).status, 3);
    EXPECT_THAT(written_, Not(HasSubstr("=end")));
}

TEST_F(CrashDumpRoundTrip, LinesWithoutSenseAreCountedOfTheConversionToo) {
    CrashText dump;
    dump.messages += "H7FCA00000400:N\nI1I2\n";
    dump.heap += "7FCA00000400:t2:I1\n7FCA00000500:lI1\nnonsense\n";
    round_trip(dump);
    const std::string one = "1 malformed line of the crash dump, the first at byte ";
    const std::string two = "2 malformed lines of the crash dump, the first at byte ";
    const std::string four = "4 malformed lines of the crash dump, the first at byte ";
    for (const std::string file : {"text.beamdump", "converted.beamdump"}) {
        EXPECT_THAT(ask(file, {"summary"}).err, Not(HasSubstr("could not be read"))) << file;
        // The line among the messages; and the object that a message leads to.
        EXPECT_THAT(ask(file, {"backtrace", "<0.9.1>"}).err, HasSubstr(one)) << file;
        EXPECT_THAT(ask(file, {"messages", "<0.9.1>"}).err, HasSubstr(two)) << file;
        EXPECT_THAT(ask(file, {"heap", "<0.9.1>"}).err, HasSubstr(four)) << file;
        const Ran written = ask(file, {"crash-dump"});
        EXPECT_THAT(written.err, HasSubstr(four)) << file;
        EXPECT_EQ(written.status, 3);
    }
    EXPECT_THAT(convert().err, HasSubstr(four));
    expect_same("text.beamdump", "converted.beamdump");
}

/// With that place the heap would begin within a word, among its objects.
TEST_F(CrashDumpRoundTrip, APlaceWithinAWordOfTheStackIsNotOne) {
    const auto text = std::regex_replace(CrashText().text(), std::regex("heap: 610"), "heap: 429");
    put("text.beamdump",
        std::regex_replace(text, std::regex("0x00007fca00001000:S"), "0x00007fca00001001:S"));
    convert();
    const std::string one = "1 malformed line of the crash dump, the first at byte ";
    for (const std::string file : {"text.beamdump", "converted.beamdump"}) {
        const Ran ran = ask(file, {"backtrace", "<0.9.1>"});
        EXPECT_THAT(ran.out, HasSubstr("(shop:loop/1 + 8)")) << file;
        EXPECT_THAT(ran.err, HasSubstr(one)) << file;
        EXPECT_THAT(ask(file, {"messages", "<0.9.1>"}).out, Not(HasSubstr("Absent"))) << file;
    }
    expect_same("text.beamdump", "converted.beamdump");
}

TEST_F(CrashDumpRoundTrip, TwoDumpsAreToldApart) {
    round_trip({.tail = ""});
    const Ran ran = program_.run({"diff", "text.beamdump", "sample.beamdump"});
    EXPECT_THAT(ran.err, HasSubstr("text.beamdump: the crash dump breaks off after "));
}

TEST_F(CrashDumpRoundTrip, LimitsAreStatedAndKept) {
    put("text.beamdump", CrashText{}.text());
    for (const std::string command : {"summary", "backtrace", "heap", "crash-dump"}) {
        std::vector<std::string> arguments = {command, "text.beamdump", "--max-memory", "200"};
        if (command == "backtrace" || command == "heap") {
            arguments.insert(arguments.begin() + 2, "<0.9.1>");
        }
        const Ran memory = program_.run(arguments);
        EXPECT_EQ(memory.status, 1) << command;
        EXPECT_THAT(memory.err, HasSubstr("text.beamdump: its contents need more than 200 B "
                                          "of memory, which is the limit; raise it with "
                                          "--max-memory"));
        arguments[arguments.size() - 2] = "--max-temporary";
        const Ran temporary = program_.run(arguments);
        EXPECT_EQ(temporary.status, 1) << command;
        EXPECT_THAT(temporary.err, HasSubstr("it needs more than 200 B of temporary files"));
        EXPECT_THAT(temporary.err, HasSubstr("raise it with --max-temporary"));
    }
}

}  // namespace
}  // namespace beamdump::test
