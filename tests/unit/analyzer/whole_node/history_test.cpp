#include "render/history.h"

#include "program.h"
#include "sample_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class HistoryTest : public ::testing::Test {
  protected:
    HistoryTest() { program_.put("recording.beamdump", sample_recording()); }

    Ran ended(std::uint64_t oom_kills) {
        records::History end;
        end.set_node_ended_us(kHistoryBegin + 590'500'000);
        end.set_oom_kills_at_end(oom_kills);
        program_.put("ended.beamdump", sample_recording(end));
        return program_.run({"history", "ended.beamdump"});
    }

    Program program_;
};

TEST_F(HistoryTest, ShowsWhatGrewFromTheFirstReadingToTheLast) {
    const auto ran = program_.run({"history", "recording.beamdump"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("sample@host (process 4711): 60 readings from 2023-11-14 "
                                   "22:13:20 UTC to 2023-11-14 22:23:10 UTC\n"));
    EXPECT_THAT(ran.out, HasSubstr("memory     100.0 MiB  100.0 MiB  159.0 MiB  159.0 MiB  "
                                   "+59.0 MiB  ▁▁▁▁▁▂▂▂▂▂▂▃▃▃▃▃▃▄▄▄▄▄▅▅▅▅▅▅▆▆▆▆▆▇▇▇▇▇▇█\n"));
    EXPECT_THAT(ran.out, HasSubstr("processor      50.0%"));
    EXPECT_THAT(ran.out, HasSubstr("Heaps that grew most\n"
                                   "PID      NAME     FIRST      LAST     CHANGE  OVER TIME\n"
                                   "<0.1.0>  alpha  6.0 MiB  60.0 MiB  +54.0 MiB  "));
    EXPECT_THAT(ran.out,
                HasSubstr("Mailboxes that grew most\n"
                          "PID      NAME          FIRST   LAST  CHANGE  OVER TIME\n"
                          "<0.8.0>                    0  9,000  +9,000                      ▁ █\n"
                          "<0.7.0>  demo:alpha/1    500  5,900  +5,400  "));
    // What no reading has is not shown.
    EXPECT_THAT(ran.out, Not(HasSubstr("atoms")));
}

TEST_F(HistoryTest, ShowsFunctionsThatTookMostProcessorTime) {
    const auto ran = program_.run({"history", "recording.beamdump"});
    EXPECT_THAT(
        ran.out,
        HasSubstr(
            "Functions that took most processor time\n"
            "In percent of one processor: 2,707 samples in 4 profiles of 10 min 0 s in all; LAST "
            "is of the last 5 min 0 s.\n"
            "7 of them count for no function: the recording keeps the stacks that are most "
            "frequent.\n"
            " SELF   LAST  TOTAL  FUNCTION      OVER TIME\n"
            "25.0%  50.0%  25.0%  demo:loop/0   ▁    ▁     ▁     █\n"));
    EXPECT_THAT(ran.out, HasSubstr("20.0%  20.0%  20.0%  demo:alpha/1  "));
    EXPECT_THAT(program_.run({"history", "recording.beamdump", "--limit", "1"}).out,
                Not(HasSubstr("demo:alpha/1  ")));
    EXPECT_THAT(program_.run({"history", "recording.beamdump", "--json"}).out,
                AllOf(HasSubstr("\"took_us\": 150000000"), HasSubstr("\"left_out\": 7"),
                      HasSubstr("\"function\": \"demo:loop/0\"")));
    EXPECT_THAT(program_.run({"history", "recording.beamdump", "--ndjson"}).out,
                HasSubstr("{\"kind\":\"function\",\"node\":\"sample@host\",\"at_us\":"
                          "1700000450000000,\"took_us\":150000000,\"rate\":10,\"function\":"
                          "\"demo:loop/0\",\"self\":1500,\"total\":1500}\n"));
}

TEST_F(HistoryTest, WithoutAProfileNothingIsSaidOfFunctions) {
    auto history = sample_history();
    history.clear_profile();
    program_.put("without.beamdump", sample_recording({}, history));
    EXPECT_THAT(program_.run({"history", "without.beamdump"}).out,
                Not(HasSubstr("processor time")));
    EXPECT_THAT(program_.run({"history", "without.beamdump", "--json"}).out,
                Not(HasSubstr("\"profiles\"")));
    // One profile has none before it to be compared with.
    *history.add_profile() = sample_profile_of(3);
    program_.put("one.beamdump", sample_recording({}, history));
    EXPECT_THAT(program_.run({"history", "one.beamdump"}).out,
                AllOf(HasSubstr("1,800 samples in 1 profile of 2 min 30 s in all.\n"),
                      HasSubstr("100.0%        100.0%  demo:loop/0")));
}

TEST_F(HistoryTest, AProfileThatRefersToNothingIsRefused) {
    auto history = sample_history();
    history.mutable_profile(2)->mutable_sample(0)->set_function(0, 9);
    program_.put("wrong.beamdump", sample_recording({}, history));
    const auto ran = program_.run({"history", "wrong.beamdump"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("samples refer to code 9, which is not there"));
}

TEST_F(HistoryTest, RedactionHidesFunctionsAsItHidesAtoms) {
    const auto ran = program_.run(
        {"redact", "recording.beamdump", "-o", "redacted.beamdump", "--policy", "structure"});
    ASSERT_EQ(ran.status, 0) << ran.err;
    const auto shown = program_.run({"history", "redacted.beamdump"});
    EXPECT_EQ(shown.status, 0) << shown.err;
    EXPECT_THAT(shown.out,
                AllOf(HasSubstr("60 readings"), HasSubstr("2,707 samples in 4 profiles")));
}

TEST_F(HistoryTest, SaysWhenTheNodeHadEndedAndOfWhat) {
    EXPECT_THAT(ended(3).out,
                HasSubstr("The node had ended by 2023-11-14 22:23:10 UTC; the last reading is 500 "
                          "ms older. Just before, the kernel ended 1 process of its cgroup for "
                          "lack of memory (OOM kill).\n"));
    EXPECT_THAT(ended(2).out, Not(HasSubstr("OOM kill")));
    // The last reading may be of the moment in which the process goes.
    auto history = sample_history();
    history.mutable_reading()->rbegin()->set_oom_kills(3);
    records::History gone;
    gone.set_node_ended_us(kHistoryBegin + 590'500'000);
    gone.set_oom_kills_at_end(3);
    program_.put("gone.beamdump", sample_recording(gone, history));
    EXPECT_THAT(program_.run({"history", "gone.beamdump"}).out,
                HasSubstr("Just before, the kernel ended 1 process"));
    // If the clock was set back, what the last reading counted was before the end.
    gone.set_node_ended_us(kHistoryBegin - 1'000'000);
    program_.put("back.beamdump", sample_recording(gone, history));
    EXPECT_THAT(program_.run({"history", "back.beamdump"}).out, Not(HasSubstr("OOM kill")));
    gone.set_node_ended_us(kHistoryBegin + 590'500'000);
    // One that was counted long before the end is not the node's end.
    for (auto& reading : *history.mutable_reading()) {
        reading.set_oom_kills(3);
    }
    program_.put("earlier.beamdump", sample_recording(gone, history));
    EXPECT_THAT(program_.run({"history", "earlier.beamdump"}).out, Not(HasSubstr("OOM kill")));
    records::History end;
    end.set_watcher_ended_us(kHistoryBegin + 600'000'000);
    program_.put("left.beamdump", sample_recording(end));
    EXPECT_THAT(program_.run({"history", "left.beamdump"}).out,
                HasSubstr("beamdump-watch ended at 2023-11-14 22:23:20 UTC, when the node still "
                          "ran.\n"));
}

TEST_F(HistoryTest, ARecordingWithoutAnEndSaysThatTheEndIsNotKnown) {
    auto bytes = sample_recording();
    bytes.resize(bytes.size() / 2);
    program_.put("cut.beamdump", bytes);
    const auto ran = program_.run({"history", "cut.beamdump"});
    EXPECT_EQ(ran.status, 3);
    EXPECT_THAT(ran.err, HasSubstr("cut.beamdump was cut off"));
    EXPECT_THAT(ran.out, HasSubstr("When the node ended is not known; it ran at 2023-11-14"));
    EXPECT_THAT(program_.run({"history", "cut.beamdump", "--json"}).out,
                HasSubstr("\"recording\": true"));
}

/// Each prefix of the file has the readings of its whole frames, or is refused. One that ends with
/// a frame, as that of a killed watcher, is not incomplete.
TEST_F(HistoryTest, ARecordingThatIsCutAnywhereHasTheFirstReadings) {
    const auto bytes = sample_recording();
    std::size_t most = 0;
    std::size_t ended_with_a_frame = 0;
    for (std::size_t size = 0; size < bytes.size(); size += 7) {
        program_.put("cut.beamdump", {bytes.begin(), bytes.begin() + static_cast<long>(size)});
        const auto ran = program_.run({"history", "cut.beamdump", "--ndjson"});
        EXPECT_EQ(ran.status == 0, ran.err.empty()) << size;
        ended_with_a_frame += ran.status == 0 ? 1 : 0;
        if (ran.status == 1) {
            continue;
        }
        std::size_t readings = 0;
        for (auto at = ran.out.find("\"reading\""); at != std::string::npos;
             at = ran.out.find("\"reading\"", at + 1)) {
            EXPECT_NE(
                ran.out.find(fmt::format("\"at_us\":{}",
                                         kHistoryBegin + static_cast<long>(readings) * 10'000'000)),
                std::string::npos)
                << size;
            ++readings;
        }
        EXPECT_GE(readings, most) << size;
        most = readings;
    }
    EXPECT_EQ(most, 60U);
    EXPECT_GT(ended_with_a_frame, 0U);
}

TEST_F(HistoryTest, AClockThatJumpsIsTold) {
    constexpr std::int64_t kHour = 3'600'000'000;
    const auto jump = [](records::History& history, int from, std::int64_t by) {
        for (int at = from; at < history.reading_size(); ++at) {
            auto& reading = *history.mutable_reading(at);
            reading.set_at_us(reading.at_us() + by);
        }
    };
    auto history = sample_history();
    jump(history, 20, -kHour);
    jump(history, 40, 24 * kHour);
    records::History end;
    end.set_node_ended_us(kHistoryBegin);
    program_.put("jumps.beamdump", sample_recording(end, history));
    const auto ran = program_.run({"history", "jumps.beamdump"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("60 readings from 2023-11-14 21:16:40 UTC to 2023-11-15 "
                                   "21:23:10 UTC\n"
                                   "The node had ended by 2023-11-14 22:13:20 UTC; the machine's "
                                   "clock was set back since the last reading.\n"
                                   "The machine's clock was set back after 2023-11-14 22:16:30 "
                                   "UTC, by 59 min 50 s at least.\n"
                                   "There is no reading from 2023-11-14 21:19:50 UTC to 2023-11-15 "
                                   "21:20:00 UTC: beamdump-watch or the machine did not run, or "
                                   "the clock was set forward.\n\n"));
    // What was read is in its order, and a step of unknown length has no share of a processor.
    EXPECT_THAT(ran.out, HasSubstr("memory     100.0 MiB  100.0 MiB  159.0 MiB  159.0 MiB"));
    EXPECT_THAT(ran.out, HasSubstr("processor      50.0%      50.0%      50.0%      50.0%"));
    const auto json = program_.run({"history", "jumps.beamdump", "--json"}).out;
    EXPECT_THAT(json, HasSubstr("\"clock_set_back\": true"));
    EXPECT_THAT(json, HasSubstr("\"clock_set_back\": false"));
    EXPECT_THAT(program_.run({"history", "recording.beamdump", "--json"}).out,
                Not(HasSubstr("clock_set_back")));
}

TEST_F(HistoryTest, OtherCommandsRefuseARecording) {
    for (const auto* command : {"summary", "processes", "memory"}) {
        const auto ran = program_.run({command, "recording.beamdump"});
        EXPECT_EQ(ran.status, 1) << command;
        EXPECT_THAT(ran.err, HasSubstr("recording.beamdump is a recording of beamdump-watch, which "
                                       "has readings and no processes"));
    }
    const auto none = program_.run({"history", "sample.beamdump"});
    EXPECT_EQ(none.status, 1);
    EXPECT_THAT(none.err, HasSubstr("the dump has no readings"));
}

TEST_F(HistoryTest, LinesHaveAReadingOrAProcessEach) {
    const auto ran = program_.run({"history", "recording.beamdump", "--ndjson"});
    EXPECT_THAT(ran.out, HasSubstr("{\"kind\":\"reading\",\"node\":\"sample@host\",\"at_us\":"
                                   "1700000000000000,\"memory\":104857600,\"limit\":167772160,"
                                   "\"resident\":94371840,\"processes\":50,\"oom_kills\":2}\n"));
    EXPECT_THAT(ran.out,
                HasSubstr("{\"kind\":\"process\",\"node\":\"sample@host\",\"at_us\":"
                          "1700000040000000,\"pid\":\"<0.1.0>\",\"name\":\"alpha\",\"heap\":"
                          "6291456,\"messages\":0}\n"));
    EXPECT_EQ(program_.run({"history", "recording.beamdump", "--ndjson", "--json"}).status, 2);
}

TEST_F(HistoryTest, IsATableOfSql) {
    SampleDump dump;
    add_history(dump.builder());
    program_.put("with.beamdump", dump.finish());
    EXPECT_EQ(program_
                  .run({"sql", "with.beamdump",
                        "SELECT count(*), max(memory) - min(memory) FROM history", "--csv"})
                  .out,
              "count(*),max(memory) - min(memory)\r\n60,61865984\r\n");
    EXPECT_EQ(program_
                  .run({"sql", "with.beamdump",
                        "SELECT pid, max(heap) FROM history_processes GROUP BY pid ORDER BY 2 "
                        "DESC LIMIT 1",
                        "--csv"})
                  .out,
              "pid,max(heap)\r\n<0.1.0>,62914560\r\n");
    EXPECT_EQ(program_
                  .run({"sql", "with.beamdump",
                        "SELECT function, sum(self * 1.0 / rate) FROM history_functions GROUP BY 1 "
                        "ORDER BY 2 DESC",
                        "--csv"})
                  .out,
              "function,sum(self * 1.0 / rate)\r\ndemo:loop/0,150\r\ndemo:alpha/1,120\r\n");
}

TEST(SparklineTest, HasTheLargestValueOfEachPartOfTheTime) {
    using Values = std::vector<std::pair<std::uint64_t, std::optional<std::uint64_t>>>;
    EXPECT_EQ(render::sparkline(Values{{0, 0}, {1, 7}, {9, 3}}, {0, 9}, 4), "█  ▄");
    EXPECT_EQ(render::sparkline(Values{{0, 5}, {3, std::nullopt}, {9, 5}}, {0, 9}, 4), "▁  ▁");
    EXPECT_EQ(render::sparkline(Values{{50, 1}, {2, 2}}, {10, 20}, 2), "█▁");
    EXPECT_EQ(render::sparkline(Values{{5, 1}}, {5, 5}, 2), "▁ ");
    EXPECT_EQ(render::sparkline(Values{}, {0, 9}, 2), "  ");
}

}  // namespace
}  // namespace beamdump::test
