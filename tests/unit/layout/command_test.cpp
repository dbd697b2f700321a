#include "c_fixture.h"
#include "cli/run.h"
#include "file/layout_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace beamdump::layout {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kNames = R"({
  "structures": {"Thing": {"types": ["struct thing"], "fields": {"size": ["size"], "b": ["b"]}}},
  "constants": ["answer", "gone"],
  "constants_source": {"*": "thing.h"}
})";

constexpr std::string_view kConstants = R"(
const unsigned long beamdump_layout_constant_answer = 42;
const char beamdump_layout_text_otp_release[] = "99";
const char beamdump_layout_text_erts_version[] = "77.1";
)";

class CommandTest : public ::testing::Test {
  protected:
    int run(const std::vector<std::string>& arguments) {
        out_.str("");
        err_.str("");
        return layout::run(arguments, out_, err_);
    }
    std::string library() { return c_.library({"struct thing { int size; long next; } thing;"}); }

    CFixture c_;
    std::ostringstream out_;
    std::ostringstream err_;
};

TEST_F(CommandTest, ExtractWritesALayoutAndSaysWhatIsAbsent) {
    const auto output = c_.path("otp-99.json");
    ASSERT_EQ(run({"extract", library(), "--names", c_.file("names.json", kNames), "--constants",
                   c_.object(kConstants), "--source", "Erlang/OTP 99.1 (a test)", "-o", output}),
              0)
        << err_.str();
    EXPECT_EQ(err_.str(), "Thing.b: absent (looked for b)\nconstant gone: absent\n");
    const auto layout = read_layout(output);
    ASSERT_TRUE(layout) << layout.error().message;
    EXPECT_EQ(layout->name, "otp-99");
    EXPECT_EQ(layout->otp_release, "99");
    EXPECT_THAT(layout->source, HasSubstr("Erlang/OTP 99.1 (a test), erts 77.1, x86-64"));
    EXPECT_EQ(layout->constants, (Named<std::uint64_t>{{"answer", 42}}));
    EXPECT_EQ(layout->structs[0].second.bytes, 16U);
    EXPECT_EQ(layout->structs[0].second.fields.size(), 1U);
}

TEST_F(CommandTest, ALayoutMayNameMore) {
    const auto like = c_.path("like.json");
    const auto output = c_.path("out.json");
    const auto library_path = library();
    const auto names = c_.file("names.json", kNames);
    LayoutFile more{"otp-1", "1", 8, "a test of names", {}, {}, {}};
    more.structs = {{"Thing", {8, {{"next", {0, 8}}}}}};
    c_.file("like.json", layout_json(more));
    ASSERT_EQ(run({"extract", library_path, "--names", names, "--like", like, "--release", "98",
                   "-o", output}),
              0)
        << err_.str();
    const auto layout = read_layout(output);
    ASSERT_TRUE(layout) << layout.error().message;
    EXPECT_EQ(layout->name, "otp-98");
    EXPECT_EQ(*find(layout->structs[0].second.fields, "next"), (Field{8, 8}));
}

TEST_F(CommandTest, ExtractFailsWithASentence) {
    const auto names = c_.file("names.json", kNames);
    EXPECT_EQ(run({"extract", library(), "--names", names, "-o", c_.path("x")}), 2);
    EXPECT_THAT(err_.str(), HasSubstr("give --constants, or --release"));
    EXPECT_EQ(run({"extract", library(), "--names", names, "--constants", c_.object(kConstants),
                   "--release", "27", "-o", c_.path("x")}),
              2);
    EXPECT_THAT(err_.str(), HasSubstr("is of OTP 99, not 27"));
    // The built-in names: not one of them is in that library.
    EXPECT_EQ(run({"extract", library(), "--release", "27", "-o", c_.path("x")}), 2);
    EXPECT_THAT(err_.str(), HasSubstr("none of the runtime's structures"));
    EXPECT_EQ(run({"extract", library(), "--names", names, "--release", "27", "-o",
                   c_.path("no/such/folder")}),
              2);
    EXPECT_THAT(err_.str(), HasSubstr("cannot write"));
    EXPECT_FALSE(std::filesystem::exists(c_.path("x")));
}

TEST_F(CommandTest, DiffTellsByItsStatus) {
    LayoutFile layout{"otp-1", "1", 8, "a test of diff", {}, {{"a", 1}}, {}};
    const auto a = c_.file("a.json", layout_json(layout));
    layout.constants[0].second = 2;
    const auto b = c_.file("b.json", layout_json(layout));
    EXPECT_EQ(run({"diff", a, a}), 0);
    EXPECT_THAT(out_.str(), IsEmpty());
    EXPECT_EQ(run({"diff", a, b}), 1);
    EXPECT_EQ(out_.str(), "constant a: 1 -> 2\n");
    EXPECT_EQ(run({"diff", a, c_.path("nowhere")}), 2);
    EXPECT_EQ(run({"diff", a, c_.file("bad.json", "{}")}), 2);
    EXPECT_THAT(err_.str(), HasSubstr("bad.json"));
}

TEST_F(CommandTest, TextOfFilesIsEscaped) {
    LayoutFile layout{"otp-1", "1", 8, "a test of diff", {}, {{"a\x1B]0;b", 1}}, {}};
    const auto a = c_.file("a.json", layout_json(layout));
    layout.constants[0].second = 2;
    const auto b = c_.file("b.json", layout_json(layout));
    EXPECT_EQ(run({"diff", a, b}), 1);
    EXPECT_EQ(out_.str(), "constant a\\x1B]0;b: 1 -> 2\n");
    EXPECT_EQ(run({"diff", a, c_.path("no\x1Bwhere\n")}), 2);
    EXPECT_THAT(err_.str(), HasSubstr("no\\x1Bwhere"));
}

TEST_F(CommandTest, CheckSaysWhatItCannotLookAt) {
    // Above the kernel's largest process id.
    EXPECT_EQ(run({"check", "4194305"}), 2);
    EXPECT_THAT(err_.str(), HasSubstr("there is no process 4194305"));
    EXPECT_EQ(run({"check", "1", "--exe", "/bin/true"}), 2);
    EXPECT_THAT(err_.str(), HasSubstr("--exe needs a core"));
    EXPECT_EQ(run({"check", c_.file("no-core", "no core")}), 2);
    EXPECT_THAT(err_.str(), HasSubstr("no-core"));
    EXPECT_EQ(run({"check", "1", "--layout", c_.file("bad.json", "{}")}), 2);
    EXPECT_THAT(err_.str(), HasSubstr("bad.json"));
    EXPECT_THAT(out_.str(), IsEmpty());
}

TEST_F(CommandTest, WrongUsageFails) {
    EXPECT_EQ(run({}), 2);
    EXPECT_EQ(run({"extract"}), 2);
    EXPECT_EQ(run({"unknown"}), 2);
    EXPECT_EQ(run({"--version"}), 0);
    EXPECT_THAT(out_.str(), HasSubstr("beamdump-layout"));
}

}  // namespace
}  // namespace beamdump::layout
