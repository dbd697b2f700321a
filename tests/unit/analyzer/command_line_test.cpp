#include "cli/arguments.h"
#include "cli/command_table.h"
#include "program.h"
#include "query/processes/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

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
    EXPECT_THAT(help.out, HasSubstr("by symptom: docs/symptoms.md"));
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
    EXPECT_EQ(query::parse_filter("name=x")->column(), 1U);
    EXPECT_EQ(query::parse_filter("status~wait")->value(), "wait");
    for (const char* text : {"x", "gen:'='/2", "=:=", "A=b"}) {
        EXPECT_EQ(query::parse_filter(text)->column(), std::nullopt) << text;
        EXPECT_EQ(query::parse_filter(text)->value(), text);
    }
}

TEST(CommandLine, UnknownFieldsAndStatusesAreNamed) {
    Program program;
    const auto filtered = [&program](const char* filter) {
        const Ran ran = program.run({"processes", "sample.beamdump", "--filter", filter});
        EXPECT_EQ(ran.status, 2) << filter;
        EXPECT_EQ(ran.out, "");
        expect_one_sentence(ran.err);
        return ran.err;
    };
    EXPECT_THAT(filtered("foo=bar"), HasSubstr("there is no field \"foo\": use pid, name, "
                                               "memory, reductions, queue, binaries"));
    EXPECT_THAT(filtered("nmae=x"), HasSubstr("did you mean \"name\"?"));
    EXPECT_THAT(filtered("status=wating"), HasSubstr("use waiting, runnable, running, suspended, "
                                                     "garbage_collecting, exiting, free; did you "
                                                     "mean \"waiting\"?"));
}

TEST(CommandLine, CountsAreDecimalNumbers) {
    Program program;
    for (const char* count : {"-1", "-3", "0x10", "1e3", "+1", "012x", "18446744073709551616"}) {
        for (const auto& arguments : std::vector<std::vector<std::string>>{
                 {"processes", "sample.beamdump", "--limit", count},
                 {"messages", "sample.beamdump", "alpha", "--from", count},
                 {"process", "sample.beamdump", "alpha", "--term-bytes", count},
                 {"backtrace", "sample.beamdump", "alpha", "--max-bytes", count}}) {
            const Ran ran = program.run(arguments);
            EXPECT_EQ(ran.status, 2) << testing::PrintToString(arguments);
            EXPECT_EQ(ran.out, "");
            expect_one_sentence(ran.err);
            EXPECT_THAT(ran.err, HasSubstr(arguments[arguments.size() - 2]));
        }
    }
}

TEST(CommandLine, TheCommandThatWasMeantIsSuggested) {
    Program program;
    const auto refused = [&program](std::vector<std::string> arguments) {
        const Ran ran = program.run(std::move(arguments));
        EXPECT_EQ(ran.status, 2);
        EXPECT_EQ(ran.out, "");
        expect_one_sentence(ran.err);
        return ran.err;
    };
    EXPECT_THAT(refused({"proceses", "sample.beamdump"}), HasSubstr("did you mean \"processes\"?"));
    EXPECT_THAT(refused({"Heap", "sample.beamdump", "alpha"}), HasSubstr("did you mean \"heap\"?"));
    EXPECT_THAT(refused({"sample.beamdump", "processes"}),
                HasSubstr("did you mean: beamdump-analyze processes "));
    EXPECT_THAT(refused({"xyzzy", "sample.beamdump"}), HasSubstr("neither a command nor a file"));
}

TEST(CommandLine, HelpOfEachCommandHasThreeExamplesThatParse) {
    constexpr int kExamples = 3;
    Program program;
    for (const auto& entry : cli::make_commands()) {
        const auto description = entry.command->description();
        const Ran help = program.run({std::string(description.name), "--help"});
        EXPECT_EQ(help.status, 0);
        std::istringstream examples{std::string(description.examples)};
        std::set<std::string> different;
        for (std::string line; std::getline(examples, line);) {
            EXPECT_THAT(help.out, HasSubstr("Example: beamdump-analyze " + line + "\n"));
            std::vector<std::string> words;
            std::istringstream example{line};
            for (std::string word; example >> word;) {
                std::erase(word, '\'');
                words.push_back(word);
            }
            ASSERT_EQ(words.front(), description.name);
            EXPECT_TRUE(cli::parse_arguments(words).has_value()) << line;
            different.insert(line);
        }
        EXPECT_EQ(different.size(), kExamples) << description.name;
    }
}

TEST(CommandLine, SectionsLimitsTheLinesOfASingleSection) {
    Program program;
    const std::string text =
        "=erl_crash_dump:0.5\nSun Nov 22 21:00:00 2026\nSlogan: none\n"
        "System version: Erlang/OTP 25 [erts-13.1.5] [64-bit]\n"
        "=port:#Port<0.0>\nSlot: 0\nConnected: <0.1.0>\n=port:#Port<0.1>\nSlot: 8\n"
        "=memory\ntotal: 100\nprocesses: 60\nsystem: 40\n=end\n";
    std::vector<std::byte> bytes(text.size());
    std::ranges::transform(text, bytes.begin(), [](char c) { return std::byte(c); });
    program.put("crash.beamdump", bytes);
    const auto shown = [&program](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"sections", "crash.beamdump"});
        return program.run(std::move(arguments)).out;
    };
    EXPECT_EQ(shown({"memory", "--limit", "2"}),
              "memory\n  total: 100\n  processes: 60\n\n1 more line; --limit 0 shows all\n");
    EXPECT_EQ(shown({"memory", "--limit", "0"}),
              "memory\n  total: 100\n  processes: 60\n  system: 40\n");
    EXPECT_EQ(shown({"port", "--limit", "1"}),
              "port #Port<0.0>\n  Slot: 0\n  Connected: <0.1.0>\n\n1 more section; --limit 0 "
              "shows all\n");
    EXPECT_THAT(shown({"memory", "--limit", "2", "--json"}), HasSubstr("\"total_lines\": 3"));
    EXPECT_EQ(shown({"prot"}), "no section prot; did you mean port?\n");
}

TEST(CommandLine, LinesFitTheTerminal) {
    Program program;
    const auto longest_line = [](const std::string& text) {
        std::istringstream lines(text);
        std::size_t longest = 0;
        for (std::string line; std::getline(lines, line);) {
            longest = std::max(longest, line.size());
        }
        return longest;
    };
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"processes", "sample.beamdump"},
                                               {"process", "sample.beamdump", "alpha"},
                                               {"messages", "sample.beamdump", "alpha"},
                                               {"dictionary", "sample.beamdump", "alpha"},
                                               {"heap", "sample.beamdump", "alpha"},
                                               {"diff", "sample.beamdump", "later.beamdump"}}) {
        SCOPED_TRACE(testing::PrintToString(arguments));
        const std::string whole = program.run(arguments).out;
        const std::string cut = program.run(arguments, std::string::npos, 40).out;
        auto wide = arguments;
        wide.emplace_back("--wide");
        EXPECT_EQ(program.run(wide, std::string::npos, 40).out, whole);
        EXPECT_EQ(program.run(arguments, std::string::npos, 1000).out, whole);
        if (longest_line(whole) > 80 && arguments.front() != "messages") {
            EXPECT_LT(longest_line(cut), longest_line(whole));
            EXPECT_THAT(cut, HasSubstr("..."));
        }
        wide.back() = "--json";
        EXPECT_EQ(program.run(wide, std::string::npos, 40).out, program.run(wide).out);
    }
    const std::string list =
        program.run({"processes", "sample.beamdump"}, std::string::npos, 80).out;
    EXPECT_LE(longest_line(list), 80U) << list;
    EXPECT_THAT(list, HasSubstr("<0.4.0>"));
    EXPECT_THAT(list, HasSubstr("running (void)"));
}

TEST(CommandLine, ProcessesAreFoundByAnySpelling) {
    Program program;
    const std::string answer = program.run({"process", "sample.beamdump", "alpha"}).out;
    for (const char* name : {"'alpha'", ":alpha", "#PID<0.1.0>", "pid(0,1,0)", "0.1.0"}) {
        const Ran ran = program.run({"process", "sample.beamdump", name});
        EXPECT_EQ(ran.out, answer) << name << ran.err;
    }
    const Ran missed = program.run({"process", "sample.beamdump", "aplha"});
    EXPECT_EQ(missed.status, 1);
    EXPECT_THAT(missed.err, HasSubstr("did you mean 'alpha'?"));
}

}  // namespace
}  // namespace beamdump::test
