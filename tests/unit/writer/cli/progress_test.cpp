#include "cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace beamdump::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class ProgressTest : public ::testing::Test {
  protected:
    ProgressPrinter printer() {
        return ProgressPrinter(streams_, [this] { return time_; });
    }
    /// What an update adds to the output.
    std::string update(ProgressPrinter& printer, std::uint64_t done,
                       std::optional<std::uint64_t> total = 1000) {
        err_.str("");
        printer.update({"processes", done, total, 5U << 20U, 1U << 20U});
        return err_.str();
    }

    std::ostringstream out_;
    std::ostringstream err_;
    program::Streams streams_{out_, err_};
    std::chrono::steady_clock::time_point time_;
};

TEST_F(ProgressTest, ALineAfterASecondAndThenEveryThree) {
    auto lines = printer();
    EXPECT_EQ(update(lines, 1), "");
    time_ += 999ms;
    EXPECT_EQ(update(lines, 2), "");
    time_ += 1ms;
    EXPECT_EQ(update(lines, 250),
              "beamdump-capture: processes 250 of 1000, 5.0 MiB read, 1.0 MiB written\n");
    time_ += 2999ms;
    EXPECT_EQ(update(lines, 251), "");
    time_ += 1ms;
    EXPECT_EQ(update(lines, 9, std::nullopt),
              "beamdump-capture: processes 9, 5.0 MiB read, 1.0 MiB written\n");
    err_.str("");
    lines.clear();
    EXPECT_EQ(err_.str(), "");
}

TEST_F(ProgressTest, ABarTenTimesASecondOnATerminal) {
    streams_.err_is_terminal = true;
    streams_.columns = 100;
    auto bar = printer();
    const auto half = update(bar, 500);
    EXPECT_THAT(half, HasSubstr("[===============               ] processes 500 of 1000"));
    EXPECT_EQ(half.find('\n'), std::string::npos);
    EXPECT_EQ(update(bar, 501), "");
    time_ += 100ms;
    EXPECT_THAT(update(bar, 1000), HasSubstr("[==============================]"));
    time_ += 100ms;
    EXPECT_THAT(update(bar, 2000), HasSubstr("[==============================]"));
    time_ += 100ms;
    EXPECT_THAT(update(bar, 0, 0), EndsWith("processes 0 of 0, 5.0 MiB read, 1.0 MiB written"));
    err_.str("");
    bar.clear();
    EXPECT_EQ(err_.str(), "\r\x1b[K");
}

TEST_F(ProgressTest, NeverWiderThanTheTerminal) {
    streams_.err_is_terminal = true;
    auto bar = printer();
    const std::string start = "\r\x1b[K";
    for (const std::size_t columns : {0U, 1U, 10U, 60U, 70U, 80U, 200U}) {
        streams_.columns = columns;
        time_ += 1s;
        const auto text = update(bar, 500);
        ASSERT_TRUE(text.starts_with(start));
        EXPECT_LE(text.size() - start.size(), std::max<std::size_t>(columns, 1) - 1);
    }
}

TEST_F(ProgressTest, LeftOutWhileTheOutputWouldBlock) {
    streams_.err_is_terminal = true;
    bool ready = false;
    streams_.err_ready = [&] { return ready; };
    auto bar = printer();
    EXPECT_EQ(update(bar, 500), "");
    ready = true;
    EXPECT_NE(update(bar, 501), "");
}

}  // namespace
}  // namespace beamdump::cli
