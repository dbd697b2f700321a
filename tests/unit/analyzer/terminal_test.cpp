// Text from a forged dump, on a terminal and off it.
#include "program.h"
#include "support/text_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// ESC, BEL, a line end, the C1 control CSI, and what turns text round.
constexpr const char* kForged = "e\x1B]0;x\a\nf\xC2\x9Bg\xE2\x80\xAEh";

class ForgedProgram : public Program {
  public:
    ForgedProgram() {
        SampleLayout layout;
        layout.erts_version = std::string("13\n=node:forged\n") + kForged;
        layout.module_name = kForged;
        SampleDump dump(1'700'000'100'000'000, layout);
        dump.add(alpha_process());
        put("forged.beamdump", dump.finish());
    }
};

TEST(Terminal, NoCommandPassesOnWhatWouldControlIt) {
    const ForgedProgram program;
    const std::string path = program.path("forged.beamdump");
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"summary", path},
                                                      {"summary", path, "--json"},
                                                      {"processes", path},
                                                      {"process", path, "alpha"},
                                                      {"backtrace", path, "alpha"},
                                                      {"backtrace", path, "alpha", "--lines"},
                                                      {"backtrace", path, "alpha", "--json"},
                                                      {"messages", path, "alpha"},
                                                      {"heap", path, "alpha"},
                                                      {"process", path, kForged},
                                                      {"crash-dump", path}}) {
        test::TextOutput out{true};
        test::TextOutput err{true};
        cli::run(arguments, out, err);
        out.flush();
        for (std::string text : {out.text(), err.text()}) {
            // The commands' own: of the progress line, and of titles.
            for (const std::string_view own : {"\r\x1B[K", "\x1B[1m", "\x1B[0m"}) {
                for (std::size_t at = text.find(own); at != text.npos; at = text.find(own)) {
                    text.erase(at, own.size());
                }
            }
            for (const char* control : {"\x1B", "\a", "\xC2\x9B", "\xE2\x80\xAE"}) {
                EXPECT_THAT(text, Not(HasSubstr(control))) << arguments.front();
            }
        }
    }
}

TEST(Terminal, FileNamesStayOnTheirLineOffATerminalToo) {
    ForgedProgram program;
    const Ran ran = program.run({"backtrace", "forged.beamdump", "alpha", "--lines"});
    EXPECT_THAT(ran.out, HasSubstr("(e\\x1B]0;x\\x07\\x0Af\\u009Bg\\u202Eh.erl:12)\n"));
}

TEST(Terminal, JsonKeepsControlsAsEscapes) {
    ForgedProgram program;
    const Ran ran = program.run({"backtrace", "forged.beamdump", "alpha", "--lines", "--json"});
    EXPECT_THAT(ran.out, HasSubstr(R"(e\u001B]0;x\u0007\nf\u009Bg\u202Eh.erl)"));
}

TEST(Terminal, AForgedVersionAddsNoLinesToACrashDump) {
    ForgedProgram program;
    const Ran ran = program.run({"crash-dump", "forged.beamdump"});
    EXPECT_THAT(ran.out, HasSubstr("[erts-13\\x0A=node:forged\\x0Ae\\x1B]0;x\\x07"));
    EXPECT_THAT(ran.out, Not(HasSubstr("\n=node:forged")));
}

}  // namespace

}  // namespace beamdump::test
