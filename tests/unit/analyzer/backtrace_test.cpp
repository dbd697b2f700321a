#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kAlphaText =
    "Program counter: 0x0000000000007050 (demo:loop/2 + 64)\n"
    "y(0)     [1,2]\n"
    "y(1)     Catch 0x0000000000007080 (demo:loop/2 + 112)\n"
    "\n"
    "0x0000000000280010 Return addr 0x0000000000007080 (demo:loop/2 + 112)\n"
    "y(0)     true\n"
    "\n"
    "0x0000000000280020 Return addr 0x0000000000009000 (<terminate process normally>)\n";

TEST(Backtrace, TextIsTheVmsOwn) {
    Program program;
    const Ran ran = program.run({"backtrace", "sample.beamdump", "alpha"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_EQ(ran.out, kAlphaText);
}

TEST(Backtrace, ChunksOfAnySizeGiveTheSameText) {
    Program program;
    for (const char* size : {"1", "2", "7", "64", "1000000"}) {
        EXPECT_EQ(program.run({"backtrace", "sample.beamdump", "alpha", "--chunk-size", size}).out,
                  kAlphaText);
    }
}

TEST(Backtrace, LinesShowFileAndLine) {
    Program program;
    const Ran ran = program.run({"backtrace", "sample.beamdump", "alpha", "--lines"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.out,
              "#0   demo:loop/2 + 64  (demo.erl:12)\n"
              "     y(0) = [1,2]\n"
              "     y(1) = catch demo:loop/2 + 112\n"
              "#1   demo:loop/2 + 112  (demo.erl:12)\n"
              "     y(0) = true\n"
              "#2   <terminate process normally>\n");
}

TEST(Backtrace, MaxBytesCutsWithANotice) {
    Program program;
    const std::string text = kAlphaText;
    for (const std::size_t limit : {std::size_t{0}, std::size_t{1}, std::size_t{60}}) {
        const Ran ran = program.run(
            {"backtrace", "sample.beamdump", "alpha", "--max-bytes", std::to_string(limit)});
        EXPECT_EQ(ran.out, text.substr(0, limit));
        EXPECT_EQ(ran.status, 0);
        EXPECT_THAT(ran.err, HasSubstr("--max-bytes"));
    }
    const Ran whole = program.run(
        {"backtrace", "sample.beamdump", "alpha", "--max-bytes", std::to_string(text.size())});
    EXPECT_EQ(whole.out, text);
    EXPECT_EQ(whole.err, "");
}

TEST(Backtrace, MaxBytesHoldsForLinesToo) {
    Program program;
    for (std::size_t limit = 0; limit < 150; limit += 11) {
        const Ran ran = program.run({"backtrace", "sample.beamdump", "alpha", "--lines",
                                     "--max-bytes", std::to_string(limit)});
        EXPECT_EQ(ran.out.size(), limit);
    }
}

TEST(Backtrace, VoidProcessHasNone) {
    Program program;
    const Ran ran = program.run({"backtrace", "sample.beamdump", "<0.4.0>"});
    EXPECT_EQ(ran.status, 3);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.err,
              "beamdump-analyze: <0.4.0> was running when it was captured: the dump does not have "
              "its stack\n");
}

TEST(Backtrace, SensitiveProcessIsWithheld) {
    Program program;
    const Ran withheld = program.run({"backtrace", "sample.beamdump", "secret"});
    EXPECT_EQ(withheld.status, 3);
    EXPECT_EQ(withheld.out, "");
    EXPECT_THAT(withheld.err, HasSubstr("--sensitive"));
    const Ran shown = program.run({"backtrace", "sample.beamdump", "secret", "--sensitive"});
    EXPECT_EQ(shown.status, 0);
    EXPECT_THAT(shown.out, HasSubstr("<terminate process normally>"));
}

TEST(Backtrace, MarkedPlacesMakeItIncomplete) {
    SampleDump dump;
    SampleProcess torn;
    torn.name = kAlphaAtom;
    torn.stack = {list_word(0xDEAD000), kNormalExit};
    dump.add(torn);
    Program program;
    program.put("torn.beamdump", dump.finish());
    for (const char* form : {"--term-limit=none", "--lines", "--json"}) {
        const Ran ran = program.run({"backtrace", "torn.beamdump", "alpha", form});
        EXPECT_EQ(ran.status, 3);
        EXPECT_THAT(ran.out, HasSubstr("#Unreadable<"));
        EXPECT_EQ(ran.err, "beamdump-analyze: marked in the terms: 1 place with invalid terms\n");
    }
}

}  // namespace
}  // namespace beamdump::test
