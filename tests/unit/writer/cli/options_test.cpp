#include "cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace beamdump::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

Options parsed(const std::vector<std::string>& arguments) {
    return std::get<Options>(parse_options(arguments).value());
}

Error refused(const std::vector<std::string>& arguments) {
    auto options = parse_options(arguments);
    return options ? Error{ErrorCode::kIo, "was accepted"} : options.error();
}

TEST(Options, Defaults) {
    const auto options = parsed({"123"});
    EXPECT_EQ(options.capture.pid, 123);
    EXPECT_EQ(options.capture.mode, records::CAPTURE_MODE_FREEZE);
    EXPECT_EQ(options.capture.binary_bytes, 64U);
    EXPECT_FALSE(options.capture.layout);
    EXPECT_FALSE(options.output_named || options.to_stdout || options.force || options.quiet);
    EXPECT_THAT(options.output.native(),
                MatchesRegex("beamdump-123-[0-9]{8}T[0-9]{6}Z\\.beamdump"));
    EXPECT_EQ(options.writer.level, 1);
    EXPECT_EQ(options.writer.threads, std::clamp(std::thread::hardware_concurrency(), 1U, 4U));
}

TEST(Options, AllOfThem) {
    const auto options =
        parsed({"--mode", "freeze", "-o", "out", "--force", "--binary-bytes", "4096", "--level",
                "3", "--threads", "7", "--layout", "other.json", "--quiet", "4242"});
    EXPECT_EQ(options.capture.pid, 4242);
    EXPECT_EQ(options.capture.binary_bytes, 4096U);
    EXPECT_EQ(options.capture.layout, "other.json");
    EXPECT_EQ(options.output, "out");
    EXPECT_TRUE(options.output_named && options.force && options.quiet);
    EXPECT_EQ(options.writer.level, 3);
    EXPECT_EQ(options.writer.threads, 7U);
}

TEST(Options, AllBinariesAndStandardOutput) {
    const auto options = parsed({"1", "--binary-bytes=all", "--output", "-"});
    EXPECT_FALSE(options.capture.binary_bytes);
    EXPECT_TRUE(options.to_stdout);
}

TEST(Options, HelpAndVersionAreAnswers) {
    const auto help = std::get<Answer>(parse_options({"--help"}).value());
    for (const auto* option : {"--mode", "--output", "--force", "--binary-bytes", "--level",
                               "--threads", "--layout", "--quiet", "--version", "PID"}) {
        EXPECT_THAT(help.text, HasSubstr(option));
    }
    const auto version = std::get<Answer>(parse_options({"--version"}).value());
    EXPECT_THAT(version.text, MatchesRegex("beamdump-capture [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Options, OtherModesAreRefusedByName) {
    for (const auto* mode : {"live", "snapshot", "auto"}) {
        const auto error = refused({"--mode", mode, "1"});
        EXPECT_EQ(error.code, ErrorCode::kUsage);
        EXPECT_THAT(error.message, HasSubstr(mode));
        EXPECT_THAT(error.message, HasSubstr("--mode freeze"));
    }
    EXPECT_THAT(refused({"--mode", "warp", "1"}).message, HasSubstr("there is no mode \"warp\""));
}

TEST(Options, MistakesAreUsageErrors) {
    const std::vector<std::vector<std::string>> mistakes{
        {},
        {"x"},
        {"0"},
        {"-5"},
        {"99999999"},
        {"1", "2"},
        {"1", "--no-such-option"},
        {"1", "--level", "0"},
        {"1", "--level", "20"},
        {"1", "--threads", "0"},
        {"1", "--threads", "65"},
        {"1", "--binary-bytes", "-1"},
        {"1", "--binary-bytes", "64k"},
        {"1", "--binary-bytes", ""},
        {"1", "--output"},
    };
    for (const auto& arguments : mistakes) {
        const auto error = refused(arguments);
        EXPECT_EQ(error.code, ErrorCode::kUsage) << ::testing::PrintToString(arguments);
        EXPECT_FALSE(error.message.empty());
    }
}

}  // namespace
}  // namespace beamdump::cli
