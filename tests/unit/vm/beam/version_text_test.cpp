#include <libvm/beam/locate/version.h>

#include <gtest/gtest.h>

namespace beamdump::beam {
namespace {

constexpr std::string_view kStock =
    "Erlang/OTP 29%s [erts-17.1.1] [source] [64-bit] [smp:%beu:%beu] [ds:%beu:%beu:%beu] "
    "[async-threads:%d] [jit:ns%s]";

TEST(VersionText, SaysReleaseVersionWidthAndJit) {
    const auto version = parse_version_text(kStock);
    ASSERT_TRUE(version);
    EXPECT_EQ(version->otp_release, "29");
    EXPECT_EQ(version->erts_version, "17.1.1");
    EXPECT_EQ(version->word_bits, 64U);
    EXPECT_TRUE(version->jit);
}

TEST(VersionText, NamesNoJitOfAnInterpreter) {
    const auto version = parse_version_text(
        "Erlang/OTP 25%s [erts-13.1.5] [source-0123abc] [64-bit] [smp:%beu:%beu]");
    ASSERT_TRUE(version);
    EXPECT_FALSE(version->jit);
    EXPECT_EQ(version->erts_version, "13.1.5");
}

TEST(VersionText, IsNotAnyTextThatNamesTheRelease) {
    EXPECT_FALSE(parse_version_text("Erlang/OTP 27 compiler or update your Erlang/OTP version"));
    EXPECT_FALSE(parse_version_text("Erlang/OTP [erts-13.1.5] [64-bit]"));
    EXPECT_FALSE(parse_version_text("Erlang/OTP 29%s [erts-17.1.1"));
    EXPECT_FALSE(parse_version_text("Erlang/OTP 29%s [erts-] [64-bit]"));
    EXPECT_FALSE(parse_version_text("Erlang/OTP 29%s [erts-17.1.1] [source]"));
    EXPECT_FALSE(parse_version_text(kStock.substr(1)));
    EXPECT_FALSE(parse_version_text(""));
}

TEST(VersionText, OfOtpHasNumbersAndPerhapsABuild) {
    for (const auto* version : {"25.2.3", "27.3.4.1", "28.0-rc1", "29.0", "26.2.5-3"}) {
        EXPECT_TRUE(is_otp_version(version)) << version;
    }
    for (const auto* text : {"25.", "25..3", "25.2.3 ", "25.2.x", "28.0-rc", "28.0-rc1a", "26.2-",
                             "25%s", "", ".", "25.2.3.", "-rc1"}) {
        EXPECT_FALSE(is_otp_version(text)) << text;
    }
}

}  // namespace
}  // namespace beamdump::beam
