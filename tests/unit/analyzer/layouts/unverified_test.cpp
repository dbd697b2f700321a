#include "layout_fields.h"
#include "program.h"
#include "query/facts/layout_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

namespace beamdump::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// Every command about the first process, as text and as JSON.
const std::vector<std::vector<std::string>> kAnswers = {{"summary"},
                                                        {"processes"},
                                                        {"process", "alpha"},
                                                        {"messages", "alpha"},
                                                        {"dictionary", "alpha"},
                                                        {"backtrace", "alpha"},
                                                        {"heap", "alpha"},
                                                        {"backtrace", "alpha", "--lines"},
                                                        {"processes", "--group-by", "status"},
                                                        {"atoms"},
                                                        {"modules"},
                                                        {"ports"},
                                                        {"schedulers"},
                                                        {"timers"},
                                                        {"nodes"}};

/// Arguments with the dump after the command.
std::vector<std::string> about(std::vector<std::string> answer, const std::string& dump) {
    answer.insert(answer.begin() + 1, dump);
    return answer;
}

/// File names and sizes, which depend on the dump's first record, left out.
std::string without_sizes(std::string text) {
    text = std::regex_replace(text, std::regex("(own|plain|marked)\\.beamdump, .*"), "SIZES");
    text = std::regex_replace(text, std::regex("(own|plain|marked)\\.beamdump"), "sample.beamdump");
    text = std::regex_replace(text, std::regex("\"(file|file_bytes|stream_bytes)\": .*"), "\"\"");
    return text;
}

/// A text without its notice: what comes before the first empty line.
std::string without_notice(const std::string& text) {
    return text.substr(text.find("\n\n") + 2);
}

/// What is behind each mark, up to the next space.
std::vector<std::string> marked(const std::string& text) {
    const std::string shown = without_notice(text);
    const std::regex mark("~([^ \n]*)");
    std::vector<std::string> found;
    for (std::sregex_iterator at(shown.begin(), shown.end(), mark), end; at != end; ++at) {
        found.push_back((*at)[1]);
    }
    return found;
}

std::string without_marks(std::string text) {
    std::erase(text, '~');
    return std::regex_replace(text, std::regex(" +"), " ");
}

class Unverified : public ::testing::Test {
  protected:
    /// The sample dump, read by a layout of OTP 24 with these fields unverified.
    Ran run_with(std::vector<std::string> fields, const std::vector<std::string>& answer) {
        program_.put("marked.beamdump", sample_dump({.name = "otp-24",
                                                     .release = "24",
                                                     .unverified_fields = std::move(fields)}));
        return program_.run(about(answer, "marked.beamdump"));
    }
    std::vector<std::string> marked_with(const std::string& field,
                                         const std::vector<std::string>& answer) {
        return marked(run_with({field}, answer).out);
    }

    Program program_;
};

TEST_F(Unverified, ADumpByItsOwnReleasesLayoutIsShownAsOneThatDoesNotSay) {
    program_.put("plain.beamdump", sample_dump());
    program_.put("own.beamdump", sample_dump({.release = "25"}));
    for (const auto& answer : kAnswers) {
        for (const bool json : {false, true}) {
            auto arguments = answer;
            if (json && answer.back() != "--lines") {
                arguments.emplace_back("--json");
            }
            const Ran plain = program_.run(about(arguments, "plain.beamdump"));
            const Ran own = program_.run(about(arguments, "own.beamdump"));
            EXPECT_EQ(without_sizes(own.out), without_sizes(plain.out));
            EXPECT_EQ(own.err, plain.err);
            EXPECT_THAT(own.out, Not(HasSubstr("~")));
            EXPECT_THAT(own.out, Not(HasSubstr("unverified")));
            EXPECT_THAT(own.out, Not(HasSubstr("Layout")));
        }
    }
}

TEST_F(Unverified, EveryAnswerSaysWhichLayoutAndWhatIsLeftOut) {
    program_.put("marked.beamdump",
                 sample_dump({.name = "otp-25-inferred",
                              .inferred_from = {"otp-24", "otp-26"},
                              .unverified_fields = {"Process.reds"},
                              .left_out = {"undecoded messages of other nodes", "signals"}}));
    for (const auto& answer : kAnswers) {
        const Ran ran = program_.run(about(answer, "marked.beamdump"));
        EXPECT_THAT(ran.out, StartsWith("Layout inferred from otp-24 and otp-26 for OTP 25: values "
                                        "marked ~ depend on fields that no check could verify.\n"
                                        "Not in this dump: signals and undecoded messages of other "
                                        "nodes.\n\n"));
        EXPECT_EQ(ran.status, 0);
        EXPECT_EQ(ran.err, "");
    }
}

TEST_F(Unverified, AnotherReleasesLayoutIsNamedWithBothReleases) {
    EXPECT_THAT(run_with({}, {"processes"}).out,
                StartsWith("Layout otp-24, made for OTP 24, used on OTP 25: checks verified all "
                           "fields.\n\nPID"));
}

TEST_F(Unverified, TableColumnsStayAligned) {
    EXPECT_EQ(
        without_notice(
            run_with({"Process.reds", "Process.u.initial"}, {"processes", "--limit", "2"}).out),
        "PID      NAME OR INITIAL CALL   MEMORY  REDUCTIONS  MESSAGES  STATUS   "
        "CURRENT FUNCTION\n"
        "<0.1.0>  alpha                 4.9 KiB  ~1,234,567         2  waiting  demo:loop/1\n"
        "<0.2.0>  'Needs Quotes'        2.9 KiB         ~20         0  waiting  demo:loop/1\n"
        "2 more; --limit 0 shows all\n");
}

TEST_F(Unverified, ListsMarkWhatTheFieldFeeds) {
    const std::vector<std::string> list = {"processes", "--sort", "pid"};
    EXPECT_THAT(marked_with("Process.reds", list), ElementsAre("1,234,567", "20", "10", "99"));
    EXPECT_THAT(marked_with("Process.heap_sz", list), ElementsAre("4.9", "2.9", "2.0", "100"));
    EXPECT_THAT(marked_with("Process.sig_qs.mq_len", list), ElementsAre("2", "0", "1", "0"));
    EXPECT_THAT(marked_with("Process.state", list),
                ElementsAre("waiting", "waiting", "waiting", "running"));
    EXPECT_THAT(marked_with("Process.common.reg", list), ElementsAre("alpha", "'Needs", "secret"));
    // The last uses its initial call, having no name.
    EXPECT_THAT(marked_with("Process.u.initial", list), ElementsAre("demo:loop/3"));
    EXPECT_THAT(marked_with("Process.catches", list), IsEmpty());
}

TEST_F(Unverified, ASummaryMarksTotalsToo) {
    EXPECT_THAT(marked_with("Process.sig_inq.len", {"summary"}),
                ElementsAre("3", "2", "0", "1", "0", "2", "1"));
    EXPECT_THAT(marked_with("ModuleInstance.code_length", {"summary"}).front(), "4.0");
    EXPECT_THAT(marked_with("ErtsPTab.max", {"summary"}), ::testing::Contains("262,144,"));
    EXPECT_THAT(marked_with("ErtsAlignedSchedulerData.type", {"summary"}), ElementsAre("2"));
    EXPECT_THAT(marked_with("ErlNode.sysname", {"summary"}), ElementsAre("sample@host"));
}

TEST_F(Unverified, AProcessMarksFactsAndLists) {
    const std::vector<std::string> alpha = {"process", "alpha"};
    EXPECT_THAT(marked_with("Process.group_leader", alpha), ElementsAre("<0.1.0>"));
    EXPECT_THAT(marked_with("Process.flags", alpha), ElementsAre("false"));
    // Twice the same size: heap_size of memory, and heap_block_size; and it is part of two sums.
    EXPECT_THAT(marked_with("Process.heap_sz", alpha), ElementsAre("4.9", "233", "233", "233"));
    EXPECT_THAT(marked_with("Process.common.links", alpha),
                ElementsAre("4.9", "process", "<0.1.0>"));
    EXPECT_THAT(marked_with("ErtsMonitorDataExtended.name", alpha),
                ElementsAre("process", "<0.2.0>", "#Ref<0.9.8.7>"));
    EXPECT_THAT(marked_with("ErtsORefThing.numbers", alpha), ElementsAre("#Ref<0.9.8.7>"));
    EXPECT_THAT(marked_with("ProcDict.usedSlots", alpha), ElementsAre("loop", "42"));
    EXPECT_THAT(marked_with("ErtsMessage.m", alpha), ::testing::IsSupersetOf({"7", "[1,2]"}));
    EXPECT_THAT(marked_with("BeamCodeLineTab.loc_tab", alpha),
                ElementsAre("demo.erl:12", "demo.erl:12", "demo.erl:12"));
}

TEST_F(Unverified, WhatNoMarkCanStandBeforeIsNamed) {
    const auto said = [&](const std::string& field, const std::vector<std::string>& answer) {
        return run_with({field}, answer).out;
    };
    EXPECT_THAT(said("ErtsILink.unlinking", {"process", "alpha"}),
                HasSubstr("\nNot verified by any check either, and not marked: unlinking.\n"));
    EXPECT_THAT(said("ErlFunEntry.old_uniq", {"messages", "alpha"}),
                HasSubstr("and not marked: inside terms funs.\n"));
    EXPECT_THAT(said("Binary.orig_bytes", {"dictionary", "alpha"}),
                HasSubstr("and not marked: inside terms binaries.\n"));
    EXPECT_THAT(said("ErtsDistExternal.data", {"heap", "alpha"}),
                HasSubstr("and not marked: inside terms undecoded messages.\n"));
    EXPECT_THAT(said("Process.stop", {"backtrace", "alpha"}),
                HasSubstr("and not marked: frames, registers.\n\nProgram counter: "));
    EXPECT_THAT(said("Process.reds", {"backtrace", "alpha"}), Not(HasSubstr("not marked")));
    EXPECT_THAT(said("ErlFunEntry.old_uniq", {"processes"}), Not(HasSubstr("not marked")));
}

TEST_F(Unverified, FramesAndTermsAreMarked) {
    const std::vector<std::string> lines = {"backtrace", "alpha", "--lines"};
    EXPECT_THAT(marked_with("BeamCodeHeader.line_table", lines),
                ElementsAre("demo.erl:12)", "demo.erl:12)"));
    EXPECT_THAT(marked_with("CatchPool.beam_catches", lines), ElementsAre("catch"));
    EXPECT_THAT(marked_with("BeamCodeHeader.functions", lines),
                ElementsAre("demo:loop/2", "demo:loop/2", "<terminate"));
    EXPECT_THAT(
        marked_with("Process.i", lines),
        ElementsAre("demo:loop/2", "demo.erl:12)", "demo:loop/2", "demo.erl:12)", "<terminate"));
    EXPECT_THAT(marked_with("ErtsMessage.next", {"messages", "alpha", "--no-histogram"}),
                ElementsAre("2", "7", "[1,2]"));
    EXPECT_THAT(marked_with("ErtsMessage.next", {"messages", "alpha"}),
                ::testing::IsSupersetOf({"2", "50.0%", "7", "[1,2]"}));
    EXPECT_THAT(marked_with("ProcDict.data", {"dictionary", "alpha"}), ElementsAre("loop", "42"));
    EXPECT_THAT(marked_with("Process.arg_reg", {"heap", "secret", "--sensitive"}), Not(IsEmpty()));
    const auto heap = marked_with("Process.heap_sz", {"heap", "alpha"});
    EXPECT_THAT(heap, ElementsAre("233"));
}

TEST_F(Unverified, ADifferenceIsMarkedForTheDumpThatItIsMadeOf) {
    program_.put(
        "marked.beamdump",
        sample_dump({.name = "otp-24", .release = "24", .unverified_fields = {"Process.heap_sz"}}));
    const Ran before = program_.run({"diff", "marked.beamdump", "later.beamdump"});
    EXPECT_THAT(before.out, StartsWith("Layout of dump 1 otp-24, made for OTP 24, used on "
                                       "OTP 25: values marked"));
    EXPECT_THAT(before.out, HasSubstr("; memory ~9.9 KiB -> 10.3 KiB (~+400 B)\n"));
    EXPECT_THAT(before.out, HasSubstr("\nProcesses: 2 started, 3 exited, "));
    const Ran after = program_.run({"diff", "later.beamdump", "marked.beamdump"});
    EXPECT_THAT(after.out, StartsWith("Layout of dump 2 otp-24"));
    EXPECT_THAT(after.out, HasSubstr("; memory 10.3 KiB -> ~9.9 KiB (~-400 B)\n"));
    const Ran json = program_.run({"diff", "marked.beamdump", "later.beamdump", "--json"});
    EXPECT_THAT(json.out, ::testing::ContainsRegex("marked.beamdump[^]]*\"layout\""));
    EXPECT_THAT(json.out, Not(::testing::ContainsRegex("later.beamdump[^]]*\"layout\"")));
}

TEST_F(Unverified, MarksAddNothingElse) {
    const auto fields = layout_fields();
    ASSERT_GT(fields.size(), 150U);
    // All at once do not fit a record of the sample's small frames.
    constexpr std::ptrdiff_t kMaxAtOnce = 120;
    const std::vector<std::string> all(fields.begin(), fields.end());
    for (auto begin = all.begin(); begin != all.end();) {
        const auto end = begin + std::min(kMaxAtOnce, all.end() - begin);
        const std::vector<std::string> part(begin, end);
        begin = end;
        for (const auto& answer : kAnswers) {
            const Ran marked = run_with(part, answer);
            const Ran plain = program_.run(about(answer, "sample.beamdump"));
            EXPECT_EQ(without_marks(without_sizes(without_notice(marked.out))),
                      without_marks(std::regex_replace(plain.out, std::regex("sample.beamdump, .*"),
                                                       "SIZES")));
            EXPECT_EQ(marked.err, plain.err);
        }
    }
}

TEST_F(Unverified, JsonNamesTheValues) {
    program_.put("marked.beamdump",
                 sample_dump({.name = "otp-25-inferred",
                              .inferred_from = {"otp-24", "otp-26"},
                              .unverified_fields = {"Process.reds", "Process.catches"},
                              .left_out = {"signals"}}));
    for (const auto& answer : kAnswers) {
        if (answer.back() == "--lines") {
            continue;
        }
        auto arguments = about(answer, "marked.beamdump");
        arguments.emplace_back("--json");
        const Ran ran = program_.run(arguments);
        rapidjson::Document json;
        json.Parse(ran.out.c_str());
        ASSERT_FALSE(json.HasParseError()) << ran.out;
        const auto& layout = json["layout"];
        const auto texts = [&layout](const char* name) {
            std::vector<std::string> result;
            for (const auto& text : layout[name].GetArray()) {
                result.emplace_back(text.GetString());
            }
            return result;
        };
        EXPECT_STREQ(layout["name"].GetString(), "otp-25-inferred");
        EXPECT_THAT(texts("inferred_from"), ElementsAre("otp-24", "otp-26"));
        EXPECT_TRUE(layout["inferred"].GetBool());
        EXPECT_FALSE(layout.HasMember("release"));
        EXPECT_THAT(texts("unverified"), ElementsAre("catchlevel", "reductions"));
        EXPECT_THAT(texts("unverified_fields"), ElementsAre("Process.catches", "Process.reds"));
        EXPECT_THAT(texts("left_out"), ElementsAre("signals"));
        EXPECT_THAT(ran.out, Not(HasSubstr("~")));
    }
}

}  // namespace
}  // namespace beamdump::test
