#include "converted.h"

#include <libdump/term/backtrace_cursor.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

namespace beamdump::crash {
namespace {

using test::Converted;
using test::head;
using test::kBinary;
using test::kEveryKind;
using test::kHeap;
using test::kTail;
using test::with_messages;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Convert, SaysWhatTheHeadAndTheProcessSay) {
    Converted made(head(27) + kTail);
    auto& dump = made.dump();
    EXPECT_EQ(dump.node().otp_release(), "27");
    EXPECT_EQ(dump.node().erts_version(), "15.2.7");
    EXPECT_EQ(dump.node().schedulers(), 2U);
    EXPECT_EQ(dump.node().dirty_io_schedulers(), 10U);
    EXPECT_EQ(dump.capture().slogan(), "boom");
    ASSERT_EQ(dump.node().memory_size(), 2);
    EXPECT_EQ(dump.node().memory(1).bytes(), 600U);
    EXPECT_EQ(dump.trailer().totals().atoms(), 9747U);
    const auto run = made.run("my server");
    EXPECT_EQ(run.owner_id(), format::owner_id_of(9, 1));
    EXPECT_EQ(run.process.status(), "waiting");
    EXPECT_EQ(run.process.priority(), "high");
    EXPECT_EQ(run.process.heap_used_words(), 602U);
    EXPECT_EQ(run.row.memory_bytes(), 5832U);
    EXPECT_EQ(run.row.message_queue_length(), 3U);
    EXPECT_EQ(run.end.links(), 2U);
    EXPECT_EQ(run.end.monitors(), 1U);
    EXPECT_FALSE(run.process.has_min_heap_words());
    // Neither stack nor heap is in the text: that is said.
    EXPECT_EQ(run.end.void_reason(), records::VOID_REASON_UNREADABLE);
    EXPECT_EQ(made.outcome().missing.size(), 0U);
}

TEST(Convert, ReadsTheSystemVersionBehindASloganWithoutALineEnd) {
    auto text = head(27) + kTail;
    text.replace(text.find("boom\nSystem"), 5, "first line\nrequested by user");
    text.insert(text.find("Atoms: "), "Taints: crypto\n");
    Converted made(text);
    EXPECT_EQ(made.dump().capture().slogan(), "first line\nrequested by user");
    EXPECT_EQ(made.dump().node().otp_release(), "27");
    EXPECT_EQ(made.dump().node().schedulers(), 2U);
    EXPECT_EQ(made.dump().trailer().totals().atoms(), 9747U);
}

TEST(Convert, MakesTermsOfEveryKindOfLine) {
    for (const int release : {25, 27, 29}) {
        Converted made(
            with_messages(release, kEveryKind, kHeap,
                          std::string(kBinary) + "=visible_node:8063\nName: 'you@there'\n"));
        EXPECT_THAT(made.outcome().missing, ElementsAre()) << release;
        const auto texts = made.messages("<0.9.1>");
        ASSERT_EQ(texts.size(), 11U) << release;
        EXPECT_EQ(texts[0], "{ok,[1,1.500000e+00|x],-36893488147419103232}");
        EXPECT_EQ(texts[1], "<<\"abc\">>");
        EXPECT_EQ(texts[2], "#{a=>1,b=><<\"abc\">>}");
        EXPECT_EQ(texts[3], "-5");
        EXPECT_EQ(texts[4], "hello");
        EXPECT_EQ(texts[5], "<0.7.0>");
        EXPECT_EQ(texts[6], "#Port<0.12>");
        EXPECT_EQ(texts[7], "[]");
        EXPECT_EQ(texts[8], "<<2,97,98>>");
        EXPECT_THAT(texts[9], HasSubstr("8"));
        EXPECT_EQ(texts[10], "<8063.5.1>");
    }
}

/// As `crash-dump` writes them: bit strings within a byte in external format, parts and match
/// contexts by their original's address. Each of five words, as in a node, and the next behind it.
TEST(Convert, PartsOfBinariesTakeNoMoreWordsThanInTheNode) {
    constexpr std::string_view kParts =
        "7FCA00000100:E2D:g20AAAAnYWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXphYmNkZWZnaGlqa2xt\n"
        "7FCA00000128:E2E:g00AAAAnBGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6YWJjZGVmZ2hpamtgcA==\n"
        "7FCA00000150:Ys7FCA00000178:2:3\n"
        "7FCA00000178:YhA:YWJjZGVmZ2hpag==\n"
        "7FCA00000198:E9:g00AAAACBGVg\n"
        "7FCA000001C0:lI1|N\n";
    for (const int release : {25, 27, 29}) {
        Converted made(with_messages(release,
                                     "H7FCA00000100:N\nH7FCA00000128:N\nH7FCA00000150:N\n"
                                     "H7FCA00000178:N\nH7FCA00000198:N\nH7FCA000001C0:N\n",
                                     kParts));
        EXPECT_THAT(made.outcome().missing, ElementsAre()) << release;
        EXPECT_THAT(made.messages("<0.9.1>"),
                    ElementsAre("<<\"abcdefghijklmnopqrstuvwxyzabcdefghijklm\">>",
                                "<<97,98,99,100,101,102,103,104,105,106,107,108,109,110,111,112,"
                                "113,114,115,116,117,118,119,120,121,122,97,98,99,100,101,102,103,"
                                "104,105,106,107,96,7:4>>",
                                "<<\"cde\">>", "<<\"abcdefghij\">>", "<<101,6:4>>", "[1]"))
            << release;
    }
}

/// Lines of a node of OTP 29.1.1, but for the addresses. In the last one a float is what is left of
/// a tuple that the VM had written before.
TEST(Convert, DecodesNativeRecords) {
    constexpr std::string_view kRecords =
        "7FCA00000100:E2C:g0MAAAACAHcCbnJ3BXNtYWxsdwFhdwFibQAAAAR0ZXh0aAJ3AXhrAAMBAgM=\n"
        "7FCA00000200:E29:g0MAAAACAHcCbnJ3BXNtYWxsdwFhdwFibgcAHFhWwVNhBncFdGhyZWU=\n"
        "7FCA00000300:E23:g0MAAAACAHcCbnJ3BXNtYWxsdwFhdwFiYQVGAAAAAAAAABg=\n";
    constexpr std::string_view kMessages = "H7FCA00000100:N\nH7FCA00000200:N\nH7FCA00000300:N\n";
    auto text = with_messages(29, kMessages, kRecords);
    const std::string_view erts = "erts-15.2.7";
    text.replace(text.find(erts), erts.size(), "erts-17.1.1");
    Converted made(text);
    EXPECT_THAT(made.messages("<0.9.1>"),
                ElementsAre("#nr:small{a=<<\"text\">>,b={x,[1,2,3]}}",
                            "#nr:small{a=1795862214105116,b=three}", HasSubstr("#Absent<")));
    EXPECT_THAT(made.outcome().missing, ElementsAre(HasSubstr("1 malformed line")));
    // Releases without them.
    EXPECT_EQ(Converted(with_messages(27, kMessages, kRecords)).outcome().malformed_lines, 3U);
}

TEST(Convert, KeepsIdentifiersOf60BitsFromOtp26On) {
    const auto messages = [](std::string_view version) {
        auto text = with_messages(27, "P<0.40000.9>:N\np<0.300000000>:N\n", "");
        const std::string_view erts = "erts-15.2.7";
        text.replace(text.find(erts), erts.size(), version);
        return Converted(text).messages("<0.9.1>");
    };
    EXPECT_THAT(messages("erts-14.2.5"), ElementsAre("<0.40000.9>", "#Port<0.300000000>"));
    EXPECT_THAT(messages("erts-15.2.7"), ElementsAre("<0.40000.9>", "#Port<0.300000000>"));
}

TEST(Convert, TellsThatANativeRecordMayHaveEndedTheDump) {
    constexpr std::size_t kBuffer = 64U << 10U;
    const auto missing = [](int release, std::size_t size) {
        auto text = head(release) + "=proc_heap:<0.9.1>\n7FCA00000100:lI1|N\n";
        text.append(size - text.size() - 1, 'x').append("\n");
        return Converted(text).outcome().missing;
    };
    EXPECT_THAT(missing(29, kBuffer), Contains(HasSubstr("native record")));
    EXPECT_THAT(missing(29, kBuffer - 1), Not(Contains(HasSubstr("native record"))));
    EXPECT_THAT(missing(27, kBuffer), Not(Contains(HasSubstr("native record"))));
}

TEST(Convert, CountsLinesThatMakeNoSenseAndGoesOn) {
    const std::string broken = "nonsense\n7FCA00000100:t3:A2:ok\n7FCA00000104:N\n7FCA00000100:?\n";
    Converted made(with_messages(27, "H7FCA00000200:N\nI1I2\n", broken + "7FCA00000200:t1:I9\n"));
    EXPECT_EQ(made.outcome().malformed_lines, 5U);
    EXPECT_THAT(made.outcome().missing,
                ElementsAre(HasSubstr("5 malformed lines of the crash dump")));
    EXPECT_THAT(made.messages("<0.9.1>"), ElementsAre("{9}", "1"));
}

/// All that was kept of sections without records of their own: "tag argument", and their lines.
std::vector<std::pair<std::string, std::string>> other_sections(Dump& dump) {
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto offset : dump.trailer().crash_sections_offset()) {
        const auto page = dump.reader().message_at<records::CrashSections>(
            offset, format::RecordKind::kCrashSections);
        EXPECT_TRUE(page) << page.error().message;
        for (const auto& section : page->section()) {
            EXPECT_LE(section.lines().size(), 64U << 10U);
            if (section.continues()) {
                found.back().second += section.lines();
            } else {
                found.emplace_back(section.tag() + " " + section.argument(), section.lines());
            }
        }
    }
    return found;
}

TEST(Convert, KeepsSectionsThatHaveNoRecordsOfTheirOwn) {
    std::string atoms;
    for (int number = 0; number < 30'000; ++number) {
        atoms += "an_atom_" + std::to_string(number) + "\n";
    }
    const std::string more =
        "=ets:<0.1.0>\nSlot: 4711\nTable: #Ref<0.1.2.3>\n=port:#Port<0.1>\n"
        "=binary:7FCA00009000\n3:YWJj\n=allocator:sys_alloc\noption e: true\n"
        "=atoms\n" +
        atoms;
    for (const bool wanted : {true, false}) {
        ConvertChoice choice;
        choice.other_sections = wanted;
        Converted made(with_messages(27, "", "", more), choice);
        const auto found = other_sections(made.dump());
        if (!wanted) {
            EXPECT_EQ(found.size(), 0U);
            continue;
        }
        ASSERT_EQ(found.size(), 7U);
        EXPECT_EQ(found[0].first, "erl_crash_dump 0.5");
        EXPECT_EQ(found[1].first, "memory ");
        EXPECT_EQ(found[2], std::pair(std::string("ets <0.1.0>"),
                                      std::string("Slot: 4711\nTable: #Ref<0.1.2.3>\n")));
        EXPECT_EQ(found[3], std::pair(std::string("port #Port<0.1>"), std::string()));
        EXPECT_EQ(found[4].first, "allocator sys_alloc");
        EXPECT_EQ(found[5], std::pair(std::string("atoms "), atoms));
        EXPECT_EQ(found[6].first, "node 'me@here'");
    }
}

TEST(Convert, UsesAllThatStandsBeforeACut) {
    const auto whole = with_messages(27, kEveryKind, kHeap, kBinary);
    const auto cut = whole.substr(0, whole.find("7FCA00000200:Yh"));
    Converted made(cut);
    ASSERT_EQ(made.outcome().missing.size(), 1U);
    EXPECT_THAT(made.outcome().missing.front(), HasSubstr("in its section =proc_heap:<0.9.1>"));
    const auto texts = made.messages("<0.9.1>");
    EXPECT_EQ(texts[0], "{ok,[1,1.500000e+00|x],-36893488147419103232}");
    EXPECT_EQ(texts[3], "-5");
}

TEST(CrashDump, SaysWhatTheHeadSaysBeforeItReadsTheRest) {
    const auto text = with_messages(27, "", std::string(20'000'000, 'x'));
    const test::TextFile file(text);
    std::string slogan;
    std::vector<std::uint64_t> read;
    const auto crash = CrashDump::open(
        file.path(), [&read](std::uint64_t done, std::uint64_t) { read.push_back(done); },
        [&](const CrashHeader& header) {
            slogan = header.slogan;
            EXPECT_EQ(read.size(), 0U);
        });
    ASSERT_TRUE(crash);
    EXPECT_EQ(slogan, "boom");
    EXPECT_GT(read.size(), 10U);
    EXPECT_EQ(read.back(), text.size());
}

TEST(Convert, EveryCutIsRead) {
    const auto whole = with_messages(27, kEveryKind, kHeap, kBinary);
    for (std::size_t bytes = whole.find("=proc:"); bytes < whole.size(); bytes += 3) {
        const test::TextFile file(whole.substr(0, bytes));
        auto crash = CrashDump::open(file.path(), {});
        ASSERT_TRUE(crash) << crash.error().message;
        auto sink = open_file_sink(file.folder() / "made", {.force = true});
        ASSERT_TRUE(convert(*crash, std::move(*sink), {})) << bytes;
        auto dump = Dump::open(file.folder() / "made");
        ASSERT_TRUE(dump) << dump.error().message;
    }
}

TEST(Convert, TellsHowFarItIsWithinOneHeap) {
    std::string lines;
    for (std::uint64_t number = 0; number < 20'000; ++number) {
        lines += fmt::format("{:X}:lI1|N\n", 0x7F00'0000'0000 + number * 16);
    }
    const auto text = with_messages(27, "", lines);
    const test::TextFile file(text);
    auto crash = CrashDump::open(file.path(), {});
    ASSERT_TRUE(crash);
    auto sink = open_file_sink(file.folder() / "made", {.force = true});
    std::vector<std::uint64_t> places;
    ASSERT_TRUE(convert(*crash, std::move(*sink), {}, [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_EQ(total, text.size());
        places.push_back(done);
    }));
    // Four times within the heap, and behind it.
    ASSERT_EQ(places.size(), 5U);
    EXPECT_TRUE(std::ranges::is_sorted(places));
    EXPECT_GT(places.front(), text.find("=proc_heap"));
}

TEST(Convert, TakesOnlyTheHeapThatIsAskedFor) {
    for (const auto& name : {"<0.9.1>", "0.9.1", "my server"}) {
        Converted made(with_messages(27, kEveryKind, kHeap, kBinary),
                       {ConvertChoice::Heaps::kOne, name, 1});
        EXPECT_GT(made.run("<0.9.1>").end.words_captured(), 0U) << name;
    }
    for (const auto& name : {"<0.9.0>", "nobody"}) {
        Converted made(with_messages(27, kEveryKind, kHeap, kBinary),
                       {ConvertChoice::Heaps::kOne, name, 1});
        EXPECT_EQ(made.run("<0.9.1>").end.words_captured(), 0U) << name;
    }
}

/// The backtrace of <0.9.1>, as the VM prints one.
std::string backtrace(Converted& made) {
    const auto run = made.run("<0.9.1>");
    ProcessContext context(made.dump(), run);
    const auto scheme = scheme_of(format::TermScheme::kOtp27);
    BacktraceCursor cursor(context, *scheme,
                           {run.process.instruction_address(), run.process.stack_top_address(),
                            run.process.heap_end_address()});
    std::string text;
    while (cursor.next(1000, text) > 0) {
    }
    return text;
}

TEST(Convert, PutsTheStackWhereItWas) {
    Converted made(head(27) +
                   "=proc_stack:<0.9.1>\ny0:N\ny1:H7FCA00000100\n"
                   "0x00007fcaee401d30:SReturn addr 0x12A011F8 (gen_server:loop/7 + 200)\n"
                   "y0:SCatch 0x12A01200 (gen_server:loop/7 + 208)\n"
                   "0x00007fcaee401d40:SReturn addr 0x12A01180 (<terminate process normally>)\n"
                   "=proc_heap:<0.9.1>\n7FCA00000100:t1:I1\n" +
                   kTail);
    const auto run = made.run("<0.9.1>");
    EXPECT_EQ(run.process.stack_words(), 5U);
    EXPECT_EQ(run.process.stack_top_address(), 0x7FCA'EE40'1D20U);
    EXPECT_EQ(run.process.heap_end_address(), 0x7FCA'EE40'1D48U);
    const auto text = backtrace(made);
    EXPECT_THAT(text, HasSubstr("y(1)     {1}\n"));
    EXPECT_THAT(text, HasSubstr("0x00007fcaee401d30 Return addr 0x00007fca12a011f8 "
                                "(gen_server:loop/7 + 200)"));
    EXPECT_THAT(text, HasSubstr("y(0)     Catch 0x00007fca12a01200 (gen_server:loop/7 + 208)"));
    EXPECT_THAT(text, HasSubstr("(<terminate process normally>)"));
}

// As OTP 23 and 24 print the first frame, below a process that waits.
TEST(Convert, RegistersOfTheFirstFrameMayHaveTheirAddressesInPlaceOfNames) {
    const auto stack = [](const std::string& lines) {
        return head(23) + "=proc_stack:<0.9.1>\n" + lines +
               "0x00007fcaee401d30:SReturn addr 0x12A011F8 (gen_server:loop/7 + 200)\ny0:I20\n"
               "0x00007fcaee401d40:SReturn addr 0x12A01180 (<terminate process normally>)\n"
               "=proc_heap:<0.9.1>\n7FCA00000100:t1:I1\n" +
               kTail;
    };
    Converted made(
        stack("0x00007fcaee401d18:N\n0x00007fcaee401d20:H7FCA00000100\n"
              "0x00007fcaee401d28:SCatch 0x12A01200 (gen_server:loop/7 + 208)\n"));
    EXPECT_EQ(made.outcome().malformed_lines, 0U);
    const auto run = made.run("<0.9.1>");
    EXPECT_EQ(run.process.stack_words(), 6U);
    EXPECT_EQ(run.process.stack_top_address(), 0x7FCA'EE40'1D18U);
    const auto text = backtrace(made);
    EXPECT_THAT(text, HasSubstr("y(0)     []\ny(1)     {1}\n"
                                "y(2)     Catch 0x00007fca12a01200 (gen_server:loop/7 + 208)\n"));
    EXPECT_THAT(text, HasSubstr("\ny(0)     20\n"));
    // One is lost: its place tells so.
    Converted cut(stack("0x00007fcaee401d18:N\n0x00007fcaee4\n0x00007fcaee401d28:I7\n"));
    EXPECT_EQ(cut.outcome().malformed_lines, 1U);
    EXPECT_EQ(cut.run("<0.9.1>").process.stack_words(), 6U);
    EXPECT_THAT(backtrace(cut), HasSubstr("y(0)     []\ny(1)     #Absent<0x0f60000000000008>\n"
                                          "y(2)     7\n"));
}

TEST(Convert, AReturnAddressThatIsCutStillBeginsAFrame) {
    for (const std::string cut : {"SReturn ad", "SReturn addr 0x12A0", "S"}) {
        Converted made(head(27) +
                       "=proc_stack:<0.9.1>\ny0:I10\n"
                       "0x00007fcaee401d30:" +
                       cut +
                       "\ny0:I20\n"
                       "0x00007fcaee401d40:SReturn addr 0x12A01180 (<terminate process normally>)\n"
                       "=proc_heap:<0.9.1>\n" +
                       kTail);
        EXPECT_EQ(made.outcome().malformed_lines, 1U) << cut;
        EXPECT_EQ(made.run("<0.9.1>").process.stack_words(), 4U) << cut;
        const auto text = backtrace(made);
        EXPECT_THAT(text, HasSubstr("\ny(0)     10\n")) << cut;
        EXPECT_THAT(text, HasSubstr("0x00007fcaee401d30 Return addr 0x0f80000000000000 "
                                    "(<not in the crash dump>)\ny(0)     20\n"))
            << cut;
        EXPECT_THAT(text, Not(HasSubstr("#Absent"))) << cut;
    }
}

TEST(Convert, WordsOfAStackThatTheTextLacksAreAbsentAndThoseBehindThemStand) {
    // Two registers and a return address were overwritten by a heap's lines.
    Converted made(head(27) +
                   "=proc_stack:<0.9.1>\ny0:I10\ny1:H7FC\xFF"
                   "1\n7FCA00000100:lI1|N\n10|N\ny3:I13\n"
                   "0x00007fcaee401d30:SReturn addr 0x12A011F8 (gen_server:loop/7 + 200)\n"
                   "y0:I20\nt1:N\n"
                   "0x00007fcaee401d50:SReturn addr 0x12A01180 (<terminate process normally>)\n"
                   "y0:I30\nfff\n=proc_heap:<0.9.1>\n" +
                   kTail);
    EXPECT_EQ(made.run("<0.9.1>").process.stack_top_address(), 0x7FCA'EE40'1D10U);
    EXPECT_EQ(made.outcome().malformed_lines, 5U);
    const auto text = backtrace(made);
    EXPECT_THAT(text, HasSubstr("\ny(0)     10\n"
                                "y(1)     #Absent<0x0f60000000000008>\n"
                                "y(2)     #Absent<0x0f60000000000010>\n"
                                "y(3)     13\n"));
    EXPECT_THAT(text, HasSubstr("0x00007fcaee401d30 Return addr"));
    EXPECT_THAT(text, HasSubstr("\ny(0)     20\n"
                                "y(1)     #Absent<0x0f60000000000030>\n"
                                "y(2)     #Absent<0x0f60000000000038>\n"));
    EXPECT_THAT(text, HasSubstr("0x00007fcaee401d50 Return addr"));
    EXPECT_THAT(text, HasSubstr("\ny(0)     30\ny(1)     #Absent<0x0f60000000000050>\n"));
    EXPECT_THAT(text, Not(HasSubstr("[]")));
}

}  // namespace
}  // namespace beamdump::crash
