#include <libvm/beam/layout/layout.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <builtin_layouts.h>

namespace beamdump::beam {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kSmall = R"({
  "name": "otp-1", "otp_release": "1", "word_bytes": 8, "source": "a test",
  "constants": {"answer": 42},
  "structs": {"Thing": {"bytes": 16, "fields": {"next": {"offset": 8, "bytes": 8}}}}
})";

std::string with(std::string_view from, std::string_view to) {
    std::string text(kSmall);
    text.replace(text.find(from), from.size(), to);
    return text;
}

TEST(Layout, ReadsFieldsConstantsAndNames) {
    auto layout = Layout::parse(kSmall);
    ASSERT_TRUE(layout) << layout.error().message;
    EXPECT_EQ(layout->name(), "otp-1");
    EXPECT_EQ(layout->release(), "1");
    EXPECT_EQ(layout->json(), kSmall);
    EXPECT_EQ(layout->field("Thing", "next")->offset, 8U);
    EXPECT_EQ(layout->constant("answer"), 42U);
    EXPECT_EQ((*layout->structure("Thing"))->bytes, 16U);
}

TEST(Layout, NamesWhatIsMissing) {
    auto layout = Layout::parse(kSmall);
    ASSERT_TRUE(layout);
    EXPECT_THAT(layout->field("Thing", "prev").error().message,
                HasSubstr("otp-1 lacks Thing.prev"));
    EXPECT_THAT(layout->field("Other", "x").error().message, HasSubstr("lacks structure Other"));
    EXPECT_THAT(layout->constant("question").error().message, HasSubstr("constant question"));
}

TEST(Layout, LayoutNamesKeepsTheFirstThatIsMissing) {
    auto layout = Layout::parse(kSmall);
    ASSERT_TRUE(layout);
    LayoutNames names(*layout);
    EXPECT_EQ(names.field(FieldName{"Thing", "next"}).offset, 8U);
    EXPECT_TRUE(names.outcome());
    names.field(FieldName{"Thing", "first"});
    names.constant(ConstantName{"second"});
    ASSERT_FALSE(names.outcome());
    EXPECT_THAT(names.outcome().error().message, HasSubstr("Thing.first"));
}

TEST(Layout, RefusesAFieldBeyondItsStructure) {
    auto layout = Layout::parse(with("\"offset\": 8", "\"offset\": 9"));
    ASSERT_FALSE(layout);
    EXPECT_THAT(layout.error().message, HasSubstr("Thing.next reaches beyond"));
}

TEST(Layout, RefusesWhatIsNotALayout) {
    EXPECT_EQ(Layout::parse("").error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(Layout::parse("[1]").error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(Layout::parse(with("\"word_bytes\": 8", "\"word_bytes\": 4")).error().message,
                HasSubstr("word_bytes"));
    EXPECT_THAT(Layout::parse(with("42", "-1")).error().message, HasSubstr("answer"));
    EXPECT_THAT(Layout::parse(with("\"bytes\": 16", "\"bytes\": 99999999")).error().message,
                HasSubstr("Thing has no sensible \"bytes\""));
    EXPECT_THAT(Layout::parse(with("\"name\"", "\"nam\"")).error().message, HasSubstr("name"));
}

/// The small one, whose structure patches 3.1 and 3.2.0.1 changed, and whose constant the latter.
std::string with_patches(std::string_view first = "3.1", std::string_view structure = "Thing") {
    constexpr std::string_view kPatch =
        R"({{"erts": "{}", "structs": {{"{}": {{"bytes": {}, "fields": {{"next": {{"offset": {}, "bytes": 8}}}}}}}}{}}})";
    const auto patch = [&](std::string_view erts, int offset, std::string_view more) {
        return fmt::format(kPatch, erts, structure, offset + 8, offset, more);
    };
    return with(R"("structs")",
                fmt::format(R"("patches": [{}, {}], "structs")", patch(first, 16, ""),
                            patch("3.2.0.1", 24, R"(, "constants": {"answer": 43, "new": 1})")));
}

TEST(Layout, PatchesOfAReleaseChangeStructures) {
    const auto layout = Layout::parse(with_patches());
    ASSERT_TRUE(layout) << layout.error().message;
    ASSERT_EQ(layout->patches().size(), 2U);
    const auto offset = [&layout](std::string_view version) {
        return layout->at(erts_version(version)).field("Thing", "next")->offset;
    };
    for (const auto* version : {"", "3.0", "3.0.99"}) {
        EXPECT_EQ(offset(version), 8U) << version;
    }
    for (const auto* version : {"3.1", "3.1.5", "3.2", "3.2.0"}) {
        EXPECT_EQ(offset(version), 16U) << version;
    }
    for (const auto* version : {"3.2.0.1", "3.3"}) {
        EXPECT_EQ(offset(version), 24U) << version;
    }
    EXPECT_EQ(layout->at(erts_version("3.2")).constant("answer"), 42U);
    EXPECT_FALSE(layout->at(erts_version("3.2")).constant("new"));
    EXPECT_EQ(layout->at(erts_version("3.3")).constant("answer"), 43U);
    EXPECT_EQ(layout->at(erts_version("3.3")).constant("new"), 1U);
    EXPECT_TRUE(layout->at(erts_version("3.3")).patches().empty());
    EXPECT_EQ(layout->newest().field("Thing", "next")->offset, 24U);
    EXPECT_EQ(Layout::parse(kSmall)->newest().field("Thing", "next")->offset, 8U);
}

TEST(Layout, RefusesPatchesOutOfOrderOrOfUnknownStructures) {
    EXPECT_THAT(Layout::parse(with_patches("3.2.0.1")).error().message,
                HasSubstr("'3.2.0.1' is no later version"));
    EXPECT_THAT(Layout::parse(with_patches("new")).error().message,
                HasSubstr("'new' is no later version"));
    EXPECT_THAT(Layout::parse(with_patches("3.1", "Other")).error().message,
                HasSubstr("lacks structure Other, which one"));
    EXPECT_THAT(Layout::parse(with(R"("structs")", R"("patches": [{"erts": "3.1", "structs": {},
        "constants": 1}], "structs")"))
                    .error()
                    .message,
                HasSubstr("no \"constants\""));
    EXPECT_THAT(
        Layout::parse(with("\"constants\"", "\"patches\": 1, \"constants\"")).error().message,
        HasSubstr("not an array"));
}

TEST(Layout, TellsWithWhichPatchesItWasCompared) {
    const auto compared = [](std::string_view first, std::string_view last) {
        return Layout::parse(with(
            R"("structs")",
            fmt::format(R"("compared": {{"first": "{}", "last": "{}"}}, "structs")", first, last)));
    };
    EXPECT_FALSE(Layout::parse(kSmall)->compared());
    const auto layout = compared("3.0.1", "3.2.0.1");
    ASSERT_TRUE(layout) << layout.error().message;
    for (const auto* version : {"3.0.1", "3.0.1.5", "3.1", "3.2.0.1"}) {
        EXPECT_TRUE(layout->compared()->holds(version)) << version;
        EXPECT_TRUE(layout->at(erts_version(version)).compared()->holds(version)) << version;
    }
    for (const auto* version : {"", "new", "3.0", "3.2.0.2", "3.2.1", "4.0"}) {
        EXPECT_FALSE(layout->compared()->holds(version)) << version;
    }
    EXPECT_THAT(compared("3.2", "3.1").error().message, HasSubstr("'3.2' to '3.1'"));
    EXPECT_THAT(compared("3.2", "").error().message, HasSubstr("no versions of ERTS"));
    EXPECT_THAT(Layout::parse(with("\"structs\"", "\"compared\": 3, \"structs\"")).error().message,
                HasSubstr("not an object"));
}

TEST(Layout, IsOfOneArchitecture) {
    EXPECT_EQ(Layout::parse(kSmall)->architecture(), Architecture::kX86_64) << "older files";
    const auto of = [](std::string_view name) {
        return Layout::parse(
            with("\"source\"", fmt::format(R"("architecture": "{}", "source")", name)));
    };
    EXPECT_EQ(of("x86-64")->architecture(), Architecture::kX86_64);
    EXPECT_EQ(of("aarch64")->architecture(), Architecture::kAarch64);
    EXPECT_THAT(of("arm64").error().message, HasSubstr("'arm64', neither x86-64 nor aarch64"));
}

/// What a node of OTP 25 counts of a connection is elsewhere from 25.3 on.
TEST(Layout, OfOtp25HasThePatchesOfItsNodes) {
    const auto layout = *Layout::parse(
        std::ranges::find(builtin_layouts(), std::string_view("otp-25"), &BuiltinLayout::name)
            ->json);
    const auto in = [&layout](std::string_view version) {
        return layout.at(erts_version(version)).field("DistEntry", "in")->offset;
    };
    EXPECT_EQ(in("13.1.5"), 248U);
    EXPECT_EQ(in("13.2"), 256U);
    EXPECT_EQ(in("13.2.2.17"), 256U);
    EXPECT_EQ((*layout.at(erts_version("13.2.2.5")).structure("ErtsPSD"))->bytes, 80U);
    EXPECT_EQ((*layout.at(erts_version("13.2.2.6")).structure("ErtsPSD"))->bytes, 88U);
}

TEST(Layout, BuiltInOnesParseAndNameTheirRelease) {
    ASSERT_FALSE(builtin_layouts().empty());
    for (const auto& builtin : builtin_layouts()) {
        auto layout = Layout::parse(builtin.json);
        ASSERT_TRUE(layout) << builtin.name << ": " << layout.error().message;
        EXPECT_EQ(layout->name(), builtin.name);
        EXPECT_EQ(layout->release(), builtin.release);
        EXPECT_EQ(layout->architecture(), builtin.architecture);
        const bool is_x86 = builtin.architecture == Architecture::kX86_64;
        EXPECT_EQ("otp-" + layout->release() + (is_x86 ? "" : "-aarch64"), builtin.name);
    }
}

TEST(Layout, EndOfIsTheLastFieldsEnd) {
    EXPECT_EQ(end_of({{8, 8}, {0, 8}}), 16U);
    EXPECT_EQ(end_of({{4, 2}}), 6U);
}

}  // namespace
}  // namespace beamdump::beam
