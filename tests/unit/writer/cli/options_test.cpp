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
    EXPECT_EQ(options.capture.mode, records::CAPTURE_MODE_AUTO);
    EXPECT_FALSE(options.capture.max_pause || options.capture.timeout || options.capture.max_bytes);
    EXPECT_FALSE(options.capture.top || options.capture.no_heaps);
    EXPECT_EQ(options.capture.patience, std::chrono::seconds(3));
    EXPECT_TRUE(options.capture.processes.empty());
    EXPECT_EQ(options.capture.binary_bytes, 64U);
    EXPECT_FALSE(options.capture.layout);
    EXPECT_FALSE(options.output_named || options.to_stdout || options.force || options.quiet);
    EXPECT_FALSE(options.node);
    EXPECT_THAT(made_up_output(options.capture).native(),
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

TEST(Options, Memory) {
    EXPECT_FALSE(parsed({"1"}).memory);
    EXPECT_EQ(parsed({"--memory", "24M", "1"}).memory, std::uint64_t{24} << 20U);
    EXPECT_THAT(refused({"--memory", "11M", "1"}).message, HasSubstr("at least 12M"));
    EXPECT_EQ(refused({"--memory", "much", "1"}).code, ErrorCode::kUsage);
}

TEST(Options, AllBinariesAndStandardOutput) {
    const auto options = parsed({"1", "--binary-bytes=all", "--output", "-"});
    EXPECT_FALSE(options.capture.binary_bytes);
    EXPECT_TRUE(options.to_stdout);
}

TEST(Options, HelpAndVersionAreAnswers) {
    const auto help = std::get<Answer>(parse_options({"--help"}).value());
    for (const auto* option :
         {"--mode", "--output", "--force", "--binary-bytes", "--level", "--threads", "--layout",
          "--quiet", "--version", "NODE", "--core", "--exe"}) {
        EXPECT_THAT(help.text, HasSubstr(option));
    }
    const auto version = std::get<Answer>(parse_options({"--version"}).value());
    EXPECT_THAT(version.text, MatchesRegex("beamdump-capture [0-9]+\\.[0-9]+\\.[0-9]+\n"
                                           "Writes dumps of format [0-9]+\\.[0-9]+\\.\n"
                                           "Layouts: OTP 24, 25, .*\n"));
}

TEST(Options, NodesByName) {
    EXPECT_EQ(parsed({"rabbit@host"}).node, "rabbit@host");
    EXPECT_EQ(parsed({"rabbit"}).node, "rabbit");
    EXPECT_EQ(parsed({"2rabbits@host"}).node, "2rabbits@host");
    EXPECT_EQ(parsed({}).node, "");
    EXPECT_EQ(parsed({"rabbit"}).capture.pid, 0);
}

TEST(Options, Modes) {
    EXPECT_EQ(parsed({"--mode", "freeze", "1"}).capture.mode, records::CAPTURE_MODE_FREEZE);
    EXPECT_EQ(parsed({"--mode", "live", "1"}).capture.mode, records::CAPTURE_MODE_LIVE);
    EXPECT_EQ(parsed({"--mode", "snapshot", "1"}).capture.mode, records::CAPTURE_MODE_SNAPSHOT);
    EXPECT_EQ(parsed({"--mode", "auto", "1"}).capture.mode, records::CAPTURE_MODE_AUTO);
    EXPECT_THAT(refused({"--mode", "warp", "1"}).message, HasSubstr("there is no mode \"warp\""));
}

TEST(Options, Cores) {
    const auto options = parsed({"--core", "/tmp/core.7", "--exe", "beam.smp"});
    EXPECT_EQ(options.capture.core, "/tmp/core.7");
    EXPECT_EQ(options.capture.executable, "beam.smp");
    EXPECT_EQ(options.capture.mode, records::CAPTURE_MODE_CORE);
    EXPECT_EQ(made_up_output(options.capture), "core.7.beamdump");
    EXPECT_FALSE(options.node);
    EXPECT_FALSE(options.output_named);
    EXPECT_FALSE(parsed({"1"}).capture.core);
    EXPECT_EQ(parsed({"--core", "c", "-o", "out", "--no-heaps"}).output, "out");
}

TEST(Options, WhatACoreExcludes) {
    EXPECT_THAT(refused({"--core", "c", "1"}).message, HasSubstr("exclude each other"));
    EXPECT_THAT(refused({"--core", "c", "--mode", "live"}).message,
                HasSubstr("--mode does not apply to --core"));
    EXPECT_THAT(refused({"--core", "c", "--max-pause", "9"}).message,
                HasSubstr("--max-pause does not apply to --core"));
    EXPECT_THAT(refused({"--exe", "beam.smp", "1"}).message, HasSubstr("--exe needs --core"));
    EXPECT_EQ(refused({"--core", "c", "1"}).code, ErrorCode::kUsage);
}

TEST(Options, LimitsAndChoice) {
    const auto options = parsed({"--max-pause", "20", "--patience", "500ms", "--timeout", "30",
                                 "--max-size", "64M", "--process", "<0.12.0>", "--process",
                                 "code_server", "--top", "7", "--by", "queue", "1"})
                             .capture;
    EXPECT_EQ(options.max_pause, std::chrono::milliseconds(20));
    EXPECT_EQ(options.patience, std::chrono::milliseconds(500));
    EXPECT_EQ(options.timeout, std::chrono::seconds(30));
    EXPECT_EQ(options.max_bytes, 64U << 20U);
    EXPECT_EQ(options.processes, (std::vector<std::string>{"<0.12.0>", "code_server"}));
    EXPECT_EQ(options.top, 7U);
    EXPECT_EQ(options.by, capture::ChooseBy::kQueue);
    EXPECT_EQ(options.pid, 1);
    EXPECT_EQ(parsed({"--max-size", "3G", "1"}).capture.max_bytes, std::uint64_t{3} << 30U);
    EXPECT_EQ(parsed({"--max-size", "3GiB", "1"}).capture.max_bytes, std::uint64_t{3} << 30U);
    EXPECT_EQ(parsed({"--max-size", "12345", "1"}).capture.max_bytes, 12345U);
    EXPECT_TRUE(parsed({"--no-heaps", "1"}).capture.no_heaps);
    EXPECT_FALSE(parsed({"--mode", "snapshot", "1"}).capture.force_twin);
    EXPECT_TRUE(parsed({"--mode", "snapshot", "--force-twin", "1"}).capture.force_twin);
}

TEST(Options, MistakesAreUsageErrors) {
    const std::vector<std::vector<std::string>> mistakes{
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
        {"1", "--binary-bytes", "64x"},
        {"1", "--binary-bytes", ""},
        {"1", "--output"},
        {"1", "--max-size", "0"},
        {"1", "--max-size", "12X"},
        {"1", "--max-size", "M"},
        {"1", "--max-size", "99999999999G"},
        {"1", "--max-pause", "0"},
        {"1", "--mode", "live", "--max-pause", "5"},
        {"1", "--mode", "live", "--patience", "5s"},
        {"--core", "c", "--patience", "5s"},
        {"1", "--patience", "5"},
        {"1", "--force-twin"},
        {"1", "--mode", "freeze", "--force-twin"},
        {"--core", "c", "--force-twin"},
        {"1", "--timeout", "0"},
        {"1", "--top", "0"},
        {"1", "--top", "3", "--by", "name"},
        {"1", "--process"},
    };
    for (const auto& arguments : mistakes) {
        const auto error = refused(arguments);
        EXPECT_EQ(error.code, ErrorCode::kUsage) << ::testing::PrintToString(arguments);
        EXPECT_FALSE(error.message.empty());
    }
}

}  // namespace
}  // namespace beamdump::cli
