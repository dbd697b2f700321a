// What crash dumps may take that were made to take much.
#include "converted.h"

#include <libdump/crash/import/words/word_image.h>

#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sstream>

namespace beamdump::crash {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = 1U << 20U;

TEST(Limits, UnpackedBytesAreLimited) {
    std::stringstream packed;
    {
        boost::iostreams::filtering_ostream out;
        out.push(boost::iostreams::lzma_compressor());
        out.push(packed);
        const std::string zeros(kMiB, '0');
        for (int i = 0; i < 64; ++i) {
            out << zeros;
        }
    }
    const test::TextFile file(packed.str());
    EXPECT_LT(packed.str().size(), 64U << 10U);
    Budget budget({.temporary = 4 * kMiB});
    const auto source = TextSource::open(file.path(), {.budget = &budget});
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().code, ErrorCode::kLimit);
    EXPECT_THAT(source.error().message, HasSubstr("more than 4.0 MiB of temporary files"));
    EXPECT_LE(budget.temporary(), 4 * kMiB);
    EXPECT_GT(budget.temporary(), 2 * kMiB);
}

TEST(Limits, SectionsAreLimited) {
    std::string text = "=erl_crash_dump:0.5\nx\nSlogan: boom\n";
    for (int number = 0; number < 20'000; ++number) {
        text += fmt::format("=proc:<0.{}.0>\n", number);
    }
    const test::TextFile file(text + "=end\n");
    const auto refused = CrashDump::open(file.path(), {}, {}, {.memory = kMiB});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
    EXPECT_THAT(refused.error().message, HasSubstr("more than 1.0 MiB of memory"));
    const auto taken = CrashDump::open(file.path(), {}, {}, {.memory = 16 * kMiB});
    ASSERT_TRUE(taken) << taken.error().message;
    // As much as it takes: what one process has, in tables that grow.
    EXPECT_GE(taken->budget().memory(), 20'000 * sizeof(ProcessSections));
    EXPECT_LE(taken->budget().memory(), 20'000 * 512U);
}

TEST(Limits, KindsOfSectionsAndTheSloganAreLimited) {
    std::string kinds = "=erl_crash_dump:0.5\nx\nSlogan: boom\n";
    for (int number = 0; number < 1000; ++number) {
        kinds += fmt::format("={}{}\n", std::string(2000, 'k'), number);
    }
    std::string slogan = "=erl_crash_dump:0.5\nx\nSlogan: boom\n";
    for (int number = 0; number < 1000; ++number) {
        slogan += std::string(2000, 's') + "\n";
    }
    for (const auto& text : {kinds, slogan}) {
        const test::TextFile file(text);
        const auto refused = CrashDump::open(file.path(), {}, {}, {.memory = kMiB});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
    }
}

/// What is said of a dump with limits; how much of temporary files was taken at most.
struct Refused {
    std::string message;
    std::uint64_t written = 0;
};

class Counted final : public ByteSink {
  public:
    explicit Counted(std::uint64_t& bytes) : bytes_(bytes) {}
    Result<void> write(std::span<const std::byte> bytes) override {
        bytes_ += bytes.size();
        return {};
    }
    Result<void> commit() override { return {}; }

  private:
    std::uint64_t& bytes_;
};

Refused refusal(const std::string& text, const InputLimits& limits,
                const ConvertChoice& choice = {}) {
    const test::TextFile file(text);
    auto crash = CrashDump::open(file.path(), {}, {}, limits);
    EXPECT_TRUE(crash) << crash.error().message;
    Refused refused;
    const auto outcome = convert(
        *crash, budgeted_sink(std::make_unique<Counted>(refused.written), crash->budget()), choice);
    EXPECT_FALSE(outcome);
    refused.message = outcome ? "" : outcome.error().message;
    EXPECT_EQ(outcome ? ErrorCode::kIo : outcome.error().code, ErrorCode::kLimit);
    return refused;
}

std::string cells_apart(std::uint64_t count) {
    std::string lines;
    for (std::uint64_t number = 0; number < count; ++number) {
        lines += fmt::format("{:X}:lI1|N\n", 0x7F00'0000'0000 + number * 8192);
    }
    return test::with_messages(27, "", lines);
}

TEST(Limits, LinesOnPagesOfTheirOwnAreLimited) {
    // 40,000 pages of 4 KiB: beyond 8192 of them in a file.
    const auto text = cells_apart(40'000);
    EXPECT_LT(text.size(), 2 * kMiB);
    const auto temporary = refusal(text, {.temporary = 16 * kMiB});
    EXPECT_THAT(temporary.message, HasSubstr("more than 16.0 MiB of temporary files"));
    EXPECT_LE(temporary.written, 16 * kMiB);
    ConvertChoice lazy;
    lazy.heaps = ConvertChoice::Heaps::kOne;
    lazy.lazily_from = 0;
    lazy.process = "<0.9.1>";
    for (const auto& choice : {ConvertChoice(), lazy}) {
        const auto memory = refusal(text, {.memory = 4 * kMiB}, choice);
        EXPECT_THAT(memory.message, HasSubstr("more than 4.0 MiB of memory"));
    }
}

TEST(Limits, BoundTemporaryFiles) {
    std::string lines;
    for (std::uint64_t number = 0; number < 20'000; ++number) {
        lines += fmt::format("{:X}:F1A:{}.{:020}e+00\n", 0x7F00'0000'0000 + number * 16,
                             number % 9 + 1, number * 104'729 * 1'299'709);
    }
    const auto refused = refusal(test::with_messages(27, "", lines), {.temporary = 64U << 10U});
    EXPECT_THAT(refused.message, HasSubstr("more than 64.0 KiB of temporary files"));
    EXPECT_LE(refused.written, 64U << 10U);
}

TEST(Limits, NamesAreLimited) {
    std::string messages;
    std::string links = "Link list: [";
    for (int number = 0; number < 20'000; ++number) {
        messages += fmt::format("A8:n{:07}:N\n", number);
        links += fmt::format("<0.{}.0>, ", number);
    }
    EXPECT_THAT(refusal(test::with_messages(27, messages, ""), {.memory = kMiB}).message,
                HasSubstr("more than 1.0 MiB of memory"));
    auto text = test::with_messages(27, "", "");
    const auto at = text.find("Link list: [");
    text.replace(at, 12, links);
    EXPECT_THAT(refusal(text, {.memory = kMiB}).message, HasSubstr("more than 1.0 MiB of memory"));
}

TEST(Limits, AreGivenBack) {
    Budget budget({.memory = kMiB, .temporary = kMiB});
    {
        WordImage image(&budget);
        ASSERT_TRUE(image.put(4096, {1}));
        ASSERT_TRUE(image.put(40960, {1}));
        EXPECT_GT(budget.memory(), 200U);
        image.clear();
        EXPECT_EQ(budget.memory(), 0U);
        ASSERT_TRUE(image.put(4096, {1}));
    }
    EXPECT_EQ(budget.memory(), 0U);
    EXPECT_EQ(budget.temporary(), 0U);
}

}  // namespace
}  // namespace beamdump::crash
