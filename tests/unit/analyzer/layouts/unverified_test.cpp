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

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

class Unverified : public ::testing::Test {
  protected:
    /// The sample dump, read by a layout of OTP 24 with these fields unverified.
    Ran run_with(std::vector<std::string> fields, const std::vector<std::string>& answer) {
        program_.put("marked.beamdump", sample_dump({.name = "otp-24",
                                                     .release = "24",
                                                     .unverified_fields = std::move(fields)}));
        return program_.run(about(answer, "marked.beamdump"));
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
        EXPECT_THAT(ran.out,
                    StartsWith("Layout inferred from otp-24 and otp-26 for OTP 25: no check "
                               "could verify reductions.\n"
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

TEST_F(Unverified, ValuesThatAFieldFeedsAreNamed) {
    const auto said = [&](const std::string& field) {
        return run_with({field}, {"processes", "--limit", "1"}).out;
    };
    EXPECT_THAT(said("Process.catches"), HasSubstr(": no check could verify catchlevel.\n\nPID"));
    EXPECT_THAT(said("ErlFunEntry.old_uniq"), HasSubstr("term.fun"));
    EXPECT_THAT(said("ErtsDistExternal.data"), HasSubstr("term.undecoded_message"));
    EXPECT_THAT(said("Process.heap_sz"), HasSubstr("memory"));
}

TEST_F(Unverified, TheFirstOfManyValuesAreNamed) {
    const auto fields = layout_fields();
    std::vector<std::string> some(fields.begin(), std::next(fields.begin(), 60));
    EXPECT_THAT(
        run_with(some, {"processes"}).out,
        ContainsRegex("no check could verify [^\n]* and [0-9]+ more .--json names all.\\.\n"));
}

TEST_F(Unverified, ADifferenceNamesTheDump) {
    program_.put(
        "marked.beamdump",
        sample_dump({.name = "otp-24", .release = "24", .unverified_fields = {"Process.heap_sz"}}));
    const Ran before = program_.run({"diff", "marked.beamdump", "later.beamdump"});
    EXPECT_THAT(before.out, StartsWith("Layout of dump 1 otp-24, made for OTP 24, used on "
                                       "OTP 25: no check could verify"));
    EXPECT_THAT(before.out, HasSubstr("; memory 9.9 KiB -> 10.3 KiB (+400 B)\n"));
    EXPECT_THAT(before.out, HasSubstr("\nProcesses: 2 started, 3 exited, "));
    const Ran after = program_.run({"diff", "later.beamdump", "marked.beamdump"});
    EXPECT_THAT(after.out, StartsWith("Layout of dump 2 otp-24"));
    const Ran json = program_.run({"diff", "marked.beamdump", "later.beamdump", "--json"});
    EXPECT_THAT(json.out, ContainsRegex("marked.beamdump[^]]*\"layout\""));
    EXPECT_THAT(json.out, Not(ContainsRegex("later.beamdump[^]]*\"layout\"")));
}

TEST_F(Unverified, NothingButTheNoticeIsAdded) {
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
            EXPECT_EQ(without_sizes(without_notice(marked.out)),
                      std::regex_replace(plain.out, std::regex("sample.beamdump, .*"), "SIZES"));
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
    }
}

}  // namespace
}  // namespace beamdump::test
