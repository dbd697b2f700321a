#include "support/fake_term_context.h"

#include <libdump/term/frame_cursor.h>

#include <gtest/gtest.h>

namespace beamdump::testing {
namespace {

constexpr std::uint64_t kTop = 0x7000'0000;

std::vector<StackFrame> frames_of(FakeTermContext& context, const ProcessStack& stack) {
    FrameCursor cursor(context, otp25_scheme(), stack);
    std::vector<StackFrame> frames;
    while (auto frame = cursor.next()) {
        frames.push_back(*frame);
    }
    return frames;
}

TEST(FrameCursor, GivesEachFunctionItsRegisters) {
    FakeTermContext context;
    context.code[0x100] = {.function = context.function("m", "f", 1),
                           .function_start = 0x100,
                           .mfa_start = 0x110,
                           .code_point = std::nullopt,
                           .file = "m.erl",
                           .line = 7};
    context.catches[3] = 0x140;
    context.add_region(kTop, {TermBuilder::small(1), TermBuilder::catch_word(3), 0x120, 0x130,
                              TermBuilder::small(2), 0x150});
    const auto frames =
        frames_of(context, {.instruction = 0x108, .top = kTop, .bottom = kTop + 48});
    ASSERT_EQ(frames.size(), 4U);
    EXPECT_EQ(frames[0].code_address, 0x108U);
    EXPECT_FALSE(frames[0].stack_address);
    ASSERT_EQ(frames[0].registers.size(), 2U);
    EXPECT_EQ(frames[0].registers[0].word, TermBuilder::small(1));
    EXPECT_FALSE(frames[0].registers[0].is_catch);
    EXPECT_TRUE(frames[0].registers[1].is_catch);
    EXPECT_EQ(frames[0].registers[1].index, 1U);
    EXPECT_EQ(frames[0].registers[1].catch_address, 0x140U);
    EXPECT_EQ(frames[0].location.value_or(CodeLocation{}).line, 7U);
    EXPECT_EQ(frames[1].code_address, 0x120U);
    EXPECT_EQ(frames[1].stack_address, kTop + 16);
    EXPECT_TRUE(frames[1].registers.empty());
    EXPECT_EQ(frames[2].registers.size(), 1U);
    EXPECT_EQ(frames[3].index, 3U);
    EXPECT_TRUE(frames[3].registers.empty());
    EXPECT_FALSE(frames[3].cut_short);
}

TEST(FrameCursor, SaysWhereTheStackIsCutShort) {
    FakeTermContext context;
    context.add_region(kTop, {TermBuilder::small(1), 0x120, TermBuilder::small(2)});
    const auto frames =
        frames_of(context, {.instruction = 0x108, .top = kTop, .bottom = kTop + 800});
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_FALSE(frames[0].cut_short);
    EXPECT_TRUE(frames[1].cut_short);
    EXPECT_EQ(frames[1].registers.size(), 1U);
}

TEST(FrameCursor, SplitsAFrameWithoutEnd) {
    FakeTermContext context;
    const std::size_t words = 2 * FrameCursor::kMaxRegisters + 5;
    context.add_region(kTop, std::vector<std::uint64_t>(words, TermBuilder::small(1)));
    const auto frames =
        frames_of(context, {.instruction = 0x108, .top = kTop, .bottom = kTop + words * 8});
    ASSERT_EQ(frames.size(), 3U);
    EXPECT_FALSE(frames[0].continued);
    EXPECT_TRUE(frames[1].continued);
    EXPECT_EQ(frames[1].code_address, 0x108U);
    EXPECT_EQ(frames[2].registers.size(), 5U);
    EXPECT_EQ(frames[2].registers.back().index, words - 1);
}

}  // namespace
}  // namespace beamdump::testing
