#include "print_term.h"

#include <libdump/term/backtrace_cursor.h>

#include <gtest/gtest.h>

namespace beamdump::testing {
namespace {

/// What OTP 25.2.3 printed for
///   deep(0, X) -> receive stop -> X after infinity -> X end;
///   deep(N, X) -> R = deep(N - 1, {X, N}), {R, X}.
///   main() -> spawn(fun() -> try deep(3, foo) catch error:_ -> x end end).
constexpr std::string_view kFromTheVm =
    "Program counter: 0x00007fc23536fbac (t1:deep/2 + 92)\n"
    "y(0)     {{{foo,3},2},1}\n"
    "\n"
    "0x00007fc207a12b10 Return addr 0x00007fc23536fcac (t1:deep/2 + 348)\n"
    "y(0)     {{foo,3},2}\n"
    "\n"
    "0x00007fc207a12b20 Return addr 0x00007fc23536fcac (t1:deep/2 + 348)\n"
    "y(0)     {foo,3}\n"
    "\n"
    "0x00007fc207a12b30 Return addr 0x00007fc23536fcac (t1:deep/2 + 348)\n"
    "y(0)     foo\n"
    "\n"
    "0x00007fc207a12b40 Return addr 0x00007fc235370544 (t1:'-main/0-fun-2-'/0 + 108)\n"
    "y(0)     Catch 0x00007fc235370561 (t1:'-main/0-fun-2-'/0 + 137)\n"
    "\n"
    "0x00007fc207a12b50 Return addr 0x00007fc235000c30 (<terminate process normally>)\n";

class BacktraceCursorTest : public ::testing::Test {
  protected:
    BacktraceCursorTest() {
        add_function(0x00007fc23536fb50, "deep", 2);
        add_function(0x00007fc2353704d8, "-main/0-fun-2-", 0);
        context.code_points[0x00007fc235000c30] = "<terminate process normally>";
        context.catches[77] = 0x00007fc235370561;
        const auto foo = b.atom("foo");
        const auto three = b.tuple({foo, TermBuilder::small(3)});
        const auto two = b.tuple({three, TermBuilder::small(2)});
        const auto one = b.tuple({two, TermBuilder::small(1)});
        constexpr std::uint64_t kBack = 0x00007fc23536fcac;
        context.add_region(stack.top,
                           {one, kBack, two, kBack, three, kBack, foo, 0x00007fc235370544,
                            TermBuilder::catch_word(77), 0x00007fc235000c30});
    }

    void add_function(std::uint64_t mfa, std::string_view name, std::uint32_t arity) {
        context.code[mfa - 16] = {.function = context.function("t1", name, arity),
                                  .function_start = mfa - 16,
                                  .mfa_start = mfa,
                                  .code_point = std::nullopt,
                                  .file = std::nullopt,
                                  .line = std::nullopt};
    }
    std::string backtrace(std::size_t chunk = 1U << 16U, std::int64_t limit = kClassicTermLimit) {
        BacktraceCursor cursor(context, otp25_scheme(), stack, limit);
        std::string text;
        while (cursor.next(chunk, text) != 0) {
        }
        EXPECT_TRUE(cursor.done());
        statistics = cursor.statistics();
        return text;
    }

    FakeTermContext context;
    TermBuilder b{context};
    ProcessStack stack{
        .instruction = 0x00007fc23536fbac, .top = 0x00007fc207a12b08, .bottom = 0x00007fc207a12b58};
    PrintStatistics statistics;
};

TEST_F(BacktraceCursorTest, IsTheVmsOwnText) {
    EXPECT_EQ(backtrace(), kFromTheVm);
    EXPECT_EQ(statistics.malformed + statistics.absent, 0U);
}

TEST_F(BacktraceCursorTest, ChunksOfAnySizeGiveTheSameText) {
    for (std::size_t chunk = 1; chunk <= kFromTheVm.size() + 1; ++chunk) {
        ASSERT_EQ(backtrace(chunk), kFromTheVm) << chunk;
    }
}

TEST_F(BacktraceCursorTest, NamesCodeThatBelongsToNoFunction) {
    context.regions[stack.top] = {0x1000, 0};
    context.code.clear();
    stack.instruction = 0x00007fc235000ba8;
    context.code_points[stack.instruction] = "beam_run_process";  // hibernated
    stack.bottom = stack.top + 16;
    EXPECT_EQ(backtrace(),
              "Program counter: 0x00007fc235000ba8 (unknown function)\n"
              "\n0x00007fc207a12b08 Return addr 0x0000000000001000 (unknown function)\n"
              "\n0x00007fc207a12b10 Return addr 0x0000000000000000 (invalid)\n");
}

TEST_F(BacktraceCursorTest, ShowsSavedArgumentsAndNamesOfSharedCodeWhereAsked) {
    context.regions[stack.top] = {0x1000};
    context.code.clear();
    stack.instruction = 0x00007fc235000ba8;
    context.code_points[stack.instruction] = "beam_run_process";
    stack.bottom = stack.top + 8;
    const std::string expected =
        "Program counter: 0x00007fc235000ba8 (beam_run_process)\n"
        "x(0)     foo\n"
        "x(1)     {1,2}\n"
        "\n0x00007fc207a12b08 Return addr 0x0000000000001000 (unknown function)\n";
    const BacktraceExtras beyond{
        .arguments = {b.atom("foo"), b.tuple({TermBuilder::small(1), TermBuilder::small(2)})},
        .code_points = true};
    for (const std::size_t chunk : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
        BacktraceCursor cursor(context, otp25_scheme(), stack, kNoTermLimit, beyond);
        std::string text;
        while (cursor.next(chunk, text) != 0) {
        }
        EXPECT_EQ(text, expected);
    }
}

TEST_F(BacktraceCursorTest, PadsRegistersLikeTheVm) {
    context.regions[stack.top] = std::vector<std::uint64_t>(1001, TermBuilder::small(1));
    stack.bottom = stack.top + 1001U * kWordBytes;
    const auto text = backtrace();
    EXPECT_NE(text.find("\ny(9)     1\ny(10)    1\n"), std::string::npos);
    EXPECT_NE(text.find("\ny(999)   1\ny(1000)  1\n"), std::string::npos);
}

TEST_F(BacktraceCursorTest, CutsEachTermByItself) {
    std::vector<std::uint64_t> elements(150'000, TermBuilder::small(5));
    const auto list = b.list(elements);
    context.regions[stack.top] = {list, list, 0};
    stack.bottom = stack.top + 24;
    const auto classic = backtrace();
    EXPECT_NE(classic.find(",5,... \ny(1)     [5,"), std::string::npos);
    const auto whole = backtrace(333, kNoTermLimit);
    EXPECT_EQ(whole.find("... "), std::string::npos);
    const std::size_t line = std::string_view("y(0)     \n").size() + 2 * elements.size() + 1;
    EXPECT_EQ(whole.find("\n\n0x"), whole.find("y(0)") + 2 * line - 1);
}

TEST_F(BacktraceCursorTest, MarksWhereTheStackIsMissing) {
    context.absent_begin = stack.top + 24;
    context.absent_end = stack.bottom;
    const auto text = backtrace();
    const auto mark = text.find("#Absent<0x00007fc207a12b20>-<0x00007fc207a12b58>\n");
    EXPECT_EQ(mark + 50, text.size() + 1) << text;
    EXPECT_EQ(statistics.absent, 1U);
    EXPECT_EQ(text.substr(0, 100), kFromTheVm.substr(0, 100));
}

TEST_F(BacktraceCursorTest, MarksACatchThatTheDumpLacks) {
    context.catches.clear();
    EXPECT_NE(backtrace().find("y(0)     Catch #Absent<0x000000000000135b>\n"), std::string::npos);
    EXPECT_EQ(statistics.absent, 1U);
}

TEST_F(BacktraceCursorTest, SurvivesBoundsThatContradictEachOther) {
    for (const auto& bounds :
         {ProcessStack{.instruction = 0, .top = 16, .bottom = 8},
          ProcessStack{.instruction = 0, .top = 3, .bottom = 19},
          ProcessStack{.instruction = 0, .top = 8, .bottom = ~std::uint64_t{0}}}) {
        stack = bounds;
        const auto text = backtrace();
        EXPECT_EQ(text.substr(0, 45), "Program counter: 0x0000000000000000 (invalid)");
        EXPECT_NE(text.find("#Absent<"), std::string::npos);
        EXPECT_EQ(statistics.absent, 1U);
    }
}

TEST_F(BacktraceCursorTest, AnEmptyStackIsOneLine) {
    stack.bottom = stack.top;
    EXPECT_EQ(backtrace(), "Program counter: 0x00007fc23536fbac (t1:deep/2 + 92)\n");
}

}  // namespace
}  // namespace beamdump::testing
