#include "record/recording.h"

#include "readings/process_scan.h"
#include "support/temporary_directory.h"

#include <libdump/model/dump.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <span>
#include <sys/stat.h>
#include <utime.h>

namespace beamdump::watch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kNodeName = 7;
constexpr std::uint32_t kProcessName = 9;
constexpr std::uint32_t kFunction = 11;

std::optional<std::string> text_of_atom(std::uint32_t atom) {
    return atom == kNodeName      ? std::optional("rabbit@host")
           : atom == kProcessName ? std::optional("inbox")
           : atom >= kFunction    ? std::optional("function" + std::to_string(atom))
                                  : std::nullopt;
}

class RecordingTest : public ::testing::Test {
  protected:
    Recording recording(milliseconds span = seconds(3600)) {
        records::Capture capture;
        capture.set_mode(records::CAPTURE_MODE_RECORDING);
        records::Node node;
        node.set_name_atom(kNodeName);
        return {file_, {.span = span}, std::move(capture), std::move(node)};
    }
    static records::HistoryReading reading(std::int64_t number) {
        records::HistoryReading reading;
        reading.set_at_us(number);
        reading.set_total_bytes(1000);
        auto& process = *reading.mutable_scan()->add_process();
        process.set_owner_id(5);
        process.set_registered_name_atom(kProcessName);
        return reading;
    }
    /// A profile whose only function has a name of its own.
    static records::Samples profile(std::int64_t number) {
        records::Samples profile;
        profile.mutable_time()->set_began_us(number);
        auto& function = *profile.add_code()->mutable_function();
        function.set_module_atom(kNodeName);
        function.set_function_atom(kFunction + static_cast<std::uint32_t>(number));
        return profile;
    }
    /// Of each profile in the file when it began, with the text of its function.
    [[nodiscard]] std::vector<std::pair<std::int64_t, std::string>> profiles_in_file() const {
        auto dump = Dump::open(file_);
        EXPECT_TRUE(dump) << dump.error().message;
        std::vector<std::pair<std::int64_t, std::string>> profiles;
        for (const auto offset : (*dump)->trailer().history_offset()) {
            const auto page = (*dump)->reader().message_at<records::History>(
                offset, format::RecordKind::kHistory);
            for (const auto& profile : page->profile()) {
                profiles.emplace_back(profile.time().began_us(),
                                      (*dump)
                                          ->atoms()
                                          .text(profile.code(0).function().function_atom())
                                          .value_or("?"));
            }
        }
        return profiles;
    }
    /// The times of the readings in the file, and whether it is whole.
    [[nodiscard]] std::pair<std::vector<std::int64_t>, bool> in_file() const {
        auto dump = Dump::open(file_);
        EXPECT_TRUE(dump) << dump.error().message;
        std::vector<std::int64_t> times;
        for (const auto offset : (*dump)->trailer().history_offset()) {
            const auto page = (*dump)->reader().message_at<records::History>(
                offset, format::RecordKind::kHistory);
            for (const auto& reading : page->reading()) {
                times.push_back(reading.at_us());
            }
        }
        EXPECT_EQ((*dump)->atoms().text(kNodeName), "rabbit@host");
        EXPECT_EQ((*dump)->atoms().text(kProcessName), "inbox");
        return {times, !(*dump)->reader().damage()};
    }

    test::TemporaryDirectory directory_;
    std::filesystem::path file_ = directory_.path() / "rabbit.recording";
};

TEST_F(RecordingTest, EachReadingIsInTheFileAtOnce) {
    auto kept = recording();
    for (std::int64_t number = 1; number <= 5; ++number) {
        ASSERT_TRUE(kept.add(seconds(number), reading(number), text_of_atom));
        const auto [times, whole] = in_file();
        EXPECT_EQ(times.size(), static_cast<std::size_t>(number));
        EXPECT_EQ(times.back(), number);
        EXPECT_FALSE(whole);
    }
    struct stat facts{};
    ASSERT_EQ(::stat(file_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U);
    records::History end;
    end.set_node_ended_us(6);
    ASSERT_TRUE(kept.finish(end));
    EXPECT_TRUE(in_file().second);
    EXPECT_EQ(in_file().first, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
}

TEST_F(RecordingTest, AFileThatIsCutAnywhereHasTheReadingsBefore) {
    auto kept = recording();
    std::vector<std::uintmax_t> complete;  // bytes with so many readings and one
    for (std::int64_t number = 1; number <= 5; ++number) {
        ASSERT_TRUE(kept.add(seconds(number), reading(number), text_of_atom));
        complete.push_back(std::filesystem::file_size(file_));
    }
    records::History end;
    end.set_node_ended_us(6);
    ASSERT_TRUE(kept.finish(end));
    std::ifstream stream(file_, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(stream), {}};
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        std::ofstream(file_, std::ios::binary | std::ios::trunc) << whole.substr(0, bytes);
        const auto readings = std::ranges::count_if(
            complete, [bytes](const std::uintmax_t of_file) { return of_file <= bytes; });
        if (bytes < complete.front()) {
            continue;  // it may have no head yet: an error, or no reading
        }
        const auto [times, is_whole] = in_file();
        EXPECT_EQ(times.size(), static_cast<std::size_t>(readings)) << bytes;
        EXPECT_FALSE(is_whole && times.size() < complete.size()) << bytes;
    }
}

TEST_F(RecordingTest, AProfileIsInTheFileAtOnceWithItsNames) {
    using Profiles = std::vector<std::pair<std::int64_t, std::string>>;
    auto kept = recording();
    std::vector<std::uintmax_t> complete;  // bytes with so many profiles and one
    for (std::int64_t number = 1; number <= 4; ++number) {
        ASSERT_TRUE(kept.add(seconds(number), reading(number), text_of_atom));
        ASSERT_TRUE(kept.add(seconds(number), profile(number), text_of_atom));
        complete.push_back(std::filesystem::file_size(file_));
    }
    const Profiles all{{1, "function12"}, {2, "function13"}, {3, "function14"}, {4, "function15"}};
    EXPECT_EQ(profiles_in_file(), all);
    EXPECT_EQ(kept.history().profile_size(), 4);
    EXPECT_EQ(kept.history().reading_size(), 4);
    records::History end;
    end.set_node_ended_us(6);
    ASSERT_TRUE(kept.finish(end));
    EXPECT_EQ(profiles_in_file(), all);
    EXPECT_TRUE(in_file().second);
    std::ifstream stream(file_, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(stream), {}};
    for (auto bytes = complete.front(); bytes < whole.size(); ++bytes) {
        std::ofstream(file_, std::ios::binary | std::ios::trunc) << whole.substr(0, bytes);
        const auto profiles = std::ranges::count_if(
            complete, [bytes](const std::uintmax_t of_file) { return of_file <= bytes; });
        EXPECT_EQ(profiles_in_file(), Profiles(all.begin(), all.begin() + profiles)) << bytes;
    }
}

TEST_F(RecordingTest, OldProfilesLeaveMemoryAndFileWithTheirNames) {
    auto kept = recording(seconds(100));
    std::uintmax_t most_bytes = 0;
    for (std::int64_t number = 1; number <= 1000; ++number) {
        const auto at = seconds(number);
        ASSERT_TRUE(kept.add(at, reading(number), text_of_atom));
        ASSERT_TRUE(kept.add(at, profile(number), text_of_atom));
        most_bytes = std::max(most_bytes, std::filesystem::file_size(file_));
    }
    EXPECT_EQ(kept.history().profile_size(), 101);
    EXPECT_EQ(kept.history().profile(0).time().began_us(), 900);
    const auto profiles = profiles_in_file();
    EXPECT_LE(profiles.size(), 152U);
    EXPECT_GE(profiles.size(), 101U);
    EXPECT_EQ(profiles.back(), (std::pair<std::int64_t, std::string>(1000, "function1011")));
    EXPECT_LT(most_bytes, 152U * 800U);
}

TEST_F(RecordingTest, OldReadingsLeaveMemoryAndFile) {
    auto kept = recording(seconds(100));
    std::uintmax_t most_bytes = 0;
    for (std::int64_t number = 1; number <= 1000; ++number) {
        ASSERT_TRUE(kept.add(seconds(number), reading(number), text_of_atom));
        most_bytes = std::max(most_bytes, std::filesystem::file_size(file_));
        if (number % 97 == 0) {
            const auto times = in_file().first;
            EXPECT_EQ(times.back(), number);
            EXPECT_LE(times.size(), 152U);
            EXPECT_GE(times.size(), std::min<std::size_t>(static_cast<std::size_t>(number), 100));
        }
    }
    EXPECT_EQ(kept.history().reading_size(), 101);
    EXPECT_LT(most_bytes, 152U * 400U);
    EXPECT_FALSE(std::filesystem::exists(file_.string() + ".new"));
}

TEST_F(RecordingTest, AClockThatJumpsLosesNoReading) {
    constexpr std::int64_t kHour = 3'600'000'000;
    auto kept = recording(seconds(100));
    std::vector<std::int64_t> clock;
    std::uintmax_t most_bytes = 0;
    for (std::int64_t number = 0; number < 400; ++number) {
        // An hour back, then a day forth, again and again.
        const auto jumped = number % 80 < 40 ? -kHour : 24 * kHour;
        clock.push_back(25 * kHour + jumped + number * 1'000'000);
        ASSERT_TRUE(kept.add(seconds(number), reading(clock.back()), text_of_atom));
        most_bytes = std::max(most_bytes, std::filesystem::file_size(file_));
    }
    // The last 100 s, whatever the clock said, in the order in which they were made.
    const auto all = kept.history();
    ASSERT_EQ(all.reading_size(), 101);
    for (int at = 0; at <= 100; ++at) {
        EXPECT_EQ(all.reading(at).at_us(), clock[static_cast<std::size_t>(299 + at)]);
    }
    const auto times = in_file().first;
    EXPECT_GE(times.size(), 101U);
    EXPECT_TRUE(std::ranges::equal(times, std::span(clock).last(times.size())));
    EXPECT_LT(most_bytes, 152U * 400U);
    records::History end;
    end.set_node_ended_us(kHour);
    ASSERT_TRUE(kept.finish(end));
    EXPECT_TRUE(in_file().second);
}

TEST(RecordingLimitsTest, BoundReadingsAndReadingsOfAllProcesses) {
    EXPECT_EQ(RecordingLimits{}.between_readings(), seconds(2));
    EXPECT_EQ(RecordingLimits{.span = std::chrono::hours(24)}.between_readings(), seconds(48));
    EXPECT_EQ(RecordingLimits{}.scan_time(0), seconds(10));
    EXPECT_EQ(
        (RecordingLimits{.span = seconds(30), .least_scan_time = milliseconds(100)}).scan_time(0),
        milliseconds(100));
    EXPECT_EQ(RecordingLimits{}.scan_time(10'000), seconds(10));
    EXPECT_EQ(RecordingLimits{}.scan_time(1'000'000), seconds(1000));
    EXPECT_EQ(RecordingLimits{.span = std::chrono::hours(24)}.scan_time(0), seconds(240));
    EXPECT_EQ(RecordingLimits{}.profile_time(), seconds(60));
    EXPECT_EQ(RecordingLimits{.span = std::chrono::hours(24)}.profile_time(), seconds(1440));
    EXPECT_EQ(RecordingLimits{.span = seconds(10)}.profile_time(), seconds(1));
}

TEST_F(RecordingTest, AFileThatCannotBeWrittenIsTriedAgainAndLosesNothing) {
    const auto folder = directory_.path() / "later";
    file_ = folder / "rabbit.recording";
    auto kept = recording();
    EXPECT_FALSE(kept.add(seconds(1), reading(1), text_of_atom));
    EXPECT_TRUE(kept.add(seconds(2), reading(2), text_of_atom));
    std::filesystem::create_directory(folder);
    EXPECT_TRUE(kept.add(seconds(3), reading(3), text_of_atom));
    EXPECT_FALSE(std::filesystem::exists(file_));
    EXPECT_TRUE(kept.add(seconds(1) + Recording::kTryAgain, reading(4), text_of_atom));
    EXPECT_EQ(in_file().first, (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST_F(RecordingTest, RecordingsOfShortRunsGoFirst) {
    const auto make = [&](const std::string& name, std::chrono::sys_seconds last) {
        const auto path = directory_.path() / name;
        std::ofstream(path) << "x";
        const utimbuf times{last.time_since_epoch().count(), last.time_since_epoch().count()};
        ASSERT_EQ(::utime(path.c_str(), &times), 0);
    };
    const std::chrono::sys_seconds begin{seconds(1'700'000'000)};
    const auto name = [&](int after) {
        return recording_name("rabbit@host", begin + std::chrono::minutes(after));
    };
    EXPECT_EQ(name(0), "rabbit@host-20231114T221320Z.recording");
    make(name(0), begin + std::chrono::minutes(50));
    make(name(60), begin + std::chrono::minutes(60) + seconds(2));
    make(name(61), begin + std::chrono::minutes(90));
    make(name(91), begin + std::chrono::minutes(91) + seconds(2));
    make(name(92) + ".new", begin);
    make(recording_name("rabbit@host2", begin), begin);
    remove_recordings(directory_.path(), "rabbit@host", 2);
    std::vector<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
        left.push_back(entry.path().filename().string());
    }
    EXPECT_THAT(left, testing::UnorderedElementsAre(name(0), name(61),
                                                    recording_name("rabbit@host2", begin)));
}

TEST(ReadingOfTest, AnUnreadValueIsAbsent) {
    const auto reading = reading_of({{Quantity::kMemory, {.value = 90, .whole = 100}},
                                     {Quantity::kPressure, {.value = 12.34}}});
    EXPECT_EQ(reading.used_bytes(), 90U);
    EXPECT_EQ(reading.limit_bytes(), 100U);
    EXPECT_EQ(reading.pressure_tenths(), 123U);
    EXPECT_FALSE(reading.has_ets_bytes());
    EXPECT_FALSE(reading.has_run_queue());
    EXPECT_TRUE(recorded_quantities().contains(Quantity::kRunQueue));
    EXPECT_FALSE(recorded_quantities().contains(Quantity::kMailbox));
}

TEST(RankedProcessesTest, KeepsTheFirstOfEachOrder) {
    RankedProcesses ranked;
    const auto add = [&](std::uint64_t id, std::optional<std::uint64_t> heap,
                         std::optional<std::uint64_t> messages,
                         std::optional<std::int64_t> growth = {}) {
        sampler::ProcessCounts counts{};
        counts.owner_id = id;
        counts.heap_bytes = heap;
        counts.messages = messages;
        ranked.add({.counts = counts, .heap_growth = growth});
    };
    for (std::uint64_t id = 1; id <= 100; ++id) {
        add(id, 1000 + id, 0, -1);
    }
    add(200, 5, 3);
    add(201, 6, std::nullopt, 70);
    add(202, std::nullopt, 1);
    std::vector<std::uint64_t> ids;
    for (const auto& process : ranked.take()) {
        ids.push_back(process.counts.owner_id);
    }
    // The ten largest, those with messages, and the one that grew.
    EXPECT_THAT(ids, testing::ElementsAre(100, 99, 98, 97, 96, 95, 94, 93, 92, 91, 201, 200, 202));
    EXPECT_TRUE(ranked.take().empty());
}

}  // namespace
}  // namespace beamdump::watch
