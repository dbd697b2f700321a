#include "cli/options.h"
#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Every diagnostic is one line that names the program.
void expect_one_sentence(const std::string& err) {
    EXPECT_THAT(err, StartsWith("beamdump-analyze: "));
    EXPECT_EQ(std::ranges::count(err, '\n'), 1) << err;
}

TEST(CommandLine, WrongUsageIsStatus2) {
    Program program;
    const std::vector<std::vector<std::string>> wrong = {
        {},
        {"summary"},
        {"process", "sample.beamdump"},
        {"backtrace", "sample.beamdump"},
        {"backtrace", "sample.beamdump", "alpha", "one too many"},
        {"diff", "sample.beamdump"},
        {"processes", "sample.beamdump", "--sort", "colour"},
        {"processes", "sample.beamdump", "--limit", "many"},
        {"backtrace", "sample.beamdump", "alpha", "--chunk-size", "0"},
        {"backtrace", "sample.beamdump", "alpha", "--term-limit", "12"},
        {"summary", "sample.beamdump", "--no-such-option"},
    };
    for (const auto& arguments : wrong) {
        const Ran ran = program.run(arguments);
        EXPECT_EQ(ran.status, 2) << testing::PrintToString(arguments);
        EXPECT_EQ(ran.out, "");
        expect_one_sentence(ran.err);
    }
}

TEST(CommandLine, HelpAndVersionAreAnswers) {
    Program program;
    const Ran help = program.run({"--help"});
    EXPECT_EQ(help.status, 0);
    for (const char* command : {"summary", "processes", "process", "backtrace", "diff"}) {
        EXPECT_THAT(help.out, HasSubstr(command));
    }
    EXPECT_THAT(program.run({"backtrace", "--help"}).out, HasSubstr("--chunk-size"));
    EXPECT_THAT(program.run({"--version"}).out, StartsWith("beamdump-analyze "));
}

TEST(CommandLine, DumpAloneIsSummary) {
    Program program;
    const Ran alone = program.run({"sample.beamdump"});
    EXPECT_EQ(alone.status, 0);
    EXPECT_EQ(alone.out, program.run({"summary", "sample.beamdump"}).out);
    EXPECT_EQ(program.run({"--json", "sample.beamdump"}).out,
              program.run({"summary", "sample.beamdump", "--json"}).out);
}

TEST(CommandLine, NoDumpIsStatus1WithOneSentence) {
    Program program;
    program.put("empty.beamdump", {});
    program.put("text.beamdump", std::vector<std::byte>(5000, std::byte{'x'}));
    for (const char* name : {"missing.beamdump", "empty.beamdump", "text.beamdump"}) {
        const Ran ran = program.run({"summary", name});
        EXPECT_EQ(ran.status, 1) << name;
        EXPECT_EQ(ran.out, "");
        expect_one_sentence(ran.err);
        EXPECT_THAT(ran.err, HasSubstr(name));
    }
}

TEST(CommandLine, UnknownProcessIsNamed) {
    Program program;
    for (const char* name : {"<0.99.0>", "0.99.0", "nobody", "demo"}) {
        for (const char* command : {"process", "backtrace"}) {
            const Ran ran = program.run({command, "sample.beamdump", name});
            EXPECT_EQ(ran.status, 1);
            EXPECT_EQ(ran.out, "");
            expect_one_sentence(ran.err);
            EXPECT_THAT(ran.err,
                        HasSubstr(std::string(name).starts_with("<0.9") ? "0.99.0" : name));
        }
    }
}

TEST(CommandLine, CutDumpAnswersWithStatus3) {
    Program program;
    std::vector<std::byte> bytes = sample_dump();
    bytes.resize(bytes.size() - 60);
    program.put("cut.beamdump", bytes);
    const Ran ran = program.run({"cut.beamdump"});
    EXPECT_EQ(ran.status, 3);
    EXPECT_THAT(ran.out, StartsWith("INCOMPLETE: "));
    expect_one_sentence(ran.err);
    const Ran whole = program.run({"backtrace", "sample.beamdump", "alpha"});
    const Ran cut = program.run({"backtrace", "cut.beamdump", "alpha"});
    EXPECT_EQ(cut.status, 3);
    EXPECT_EQ(cut.out, whole.out);
}

TEST(CommandLine, ReaderThatLeavesIsNoFailure) {
    Program program;
    for (const char* command : {"summary", "processes"}) {
        const Ran ran = program.run({command, "sample.beamdump"}, 10);
        EXPECT_EQ(ran.status, 0);
        EXPECT_EQ(ran.err, "");
    }
    const Ran ran = program.run({"backtrace", "sample.beamdump", "alpha", "--chunk-size", "1"}, 10);
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.out.size(), 10U);
    EXPECT_EQ(ran.err, "");
}

TEST(CommandLine, StatsSayWhatWasRead) {
    Program program;
    const Ran ran = program.run({"summary", "sample.beamdump", "--stats"});
    EXPECT_THAT(ran.err, ::testing::MatchesRegex("stats: frames_decompressed=[0-9]+ "
                                                 "file_bytes_read=[0-9]+ file_bytes=[0-9]+\n"));
}

TEST(CommandLine, FlippedByteGivesTheSameAnswerOrAnError) {
    Program program;
    const std::vector<std::byte> whole = sample_dump();
    const std::string answer = program.run({"backtrace", "sample.beamdump", "alpha"}).out;
    std::size_t refused = 0;
    for (std::size_t at = 0; at < whole.size(); at += 7) {
        std::vector<std::byte> bytes = whole;
        bytes[at] ^= std::byte{0x10};
        program.put("flipped.beamdump", bytes);
        const Ran ran = program.run({"backtrace", "flipped.beamdump", "alpha"});
        if (ran.status == 0) {
            EXPECT_EQ(ran.out, answer) << "byte " << at;
        } else {
            ++refused;
            EXPECT_NE(ran.err, "") << "byte " << at;
        }
    }
    EXPECT_GT(refused, 0U);
}

TEST(ParseFilter, KnowsItsFields) {
    EXPECT_EQ(query::parse_filter("name=x").field, query::FilterField::kName);
    EXPECT_EQ(query::parse_filter("status=wait").text, "wait");
    EXPECT_EQ(query::parse_filter("colour=x").field, query::FilterField::kAny);
    EXPECT_EQ(query::parse_filter("colour=x").text, "colour=x");
}

}  // namespace
}  // namespace beamdump::test
