#include <libsample/stack/stack_walk.h>
#include <libvm/arch/x86_64/call_code.h>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace beamdump::sampler {
namespace {

constexpr Address kCode = 0x7f0000001000;
constexpr Address kExit = 0x7f0000009000;
constexpr Address kTop = 0x7f1000000000;
constexpr std::uint64_t kNil = 0x3b;
constexpr std::uint64_t kSmall = 0x1f;

StackRules rules(Address normal_exit = kExit) {
    return {[](Address pc) { return pc >= kCode && pc < kExit + 0x100; }, normal_exit};
}

Result<StackFrames> walk(const std::vector<std::uint64_t>& words, bool with_bottom = true,
                         std::size_t most = 10, Address normal_exit = kExit) {
    const StackWords stack{kTop, words,
                           with_bottom ? std::optional(kTop + words.size() * 8) : std::nullopt};
    return walk_stack(rules(normal_exit), kCode, stack, most);
}

TEST(StackWalk, ReturnAddressesUpToTheExit) {
    const auto frames = walk({kNil, kCode + 0x10, kSmall, kNil, kCode + 0x20, kExit});
    ASSERT_TRUE(frames);
    EXPECT_EQ(frames->instruction, kCode);
    EXPECT_EQ(frames->returns, (std::vector<Address>{kCode + 0x10, kCode + 0x20}));
    EXPECT_FALSE(frames->more);
}

TEST(StackWalk, AWordThatIsNeitherTermNorCodeIsRefused) {
    const auto frames = walk({kNil, 0x7e0000000000, kExit});
    ASSERT_FALSE(frames);
    EXPECT_EQ(frames.error().code, ErrorCode::kImplausible);
    EXPECT_NE(frames.error().message.find("0x7e0000000000"), std::string::npos);
}

TEST(StackWalk, FramePointersLeadFurtherDown) {
    const auto frames = walk({kNil, kTop + 0x20, kCode + 0x10, kNil, 0, kExit});
    ASSERT_TRUE(frames);
    EXPECT_EQ(frames->returns, (std::vector<Address>{kCode + 0x10}));
    EXPECT_FALSE(walk({kNil, kTop - 8, kCode + 0x10, kExit})) << "it leads up";
}

TEST(StackWalk, AStackOfKnownExtentEndsAsProcessesDo) {
    EXPECT_FALSE(walk({kNil, kCode + 0x10, kNil}));
    const auto unknown = walk({kNil, kCode + 0x10, kNil}, true, 10, 0);
    ASSERT_TRUE(unknown) << "of the interpreter the exit is not known";
    EXPECT_FALSE(unknown->more);
}

TEST(StackWalk, ASampleMayEndBeforeTheStack) {
    const auto frames = walk({kNil, kCode + 0x10, kNil}, false);
    ASSERT_TRUE(frames);
    EXPECT_TRUE(frames->more);
    const auto whole = walk({kNil, kCode + 0x10, kExit, 0x7e0000000000}, false);
    ASSERT_TRUE(whole) << "what is below the stack is not looked at";
    EXPECT_FALSE(whole->more);
}

TEST(StackWalk, TheInnermostFramesAreKept) {
    const auto frames = walk({kCode + 8, kCode + 16, kCode + 24, kExit}, true, 2);
    ASSERT_TRUE(frames);
    EXPECT_EQ(frames->returns, (std::vector<Address>{kCode + 8, kCode + 16}));
    EXPECT_TRUE(frames->more);
    const auto all = walk({kCode + 8, kCode + 16, kExit}, true, 2);
    ASSERT_TRUE(all);
    EXPECT_FALSE(all->more);
}

template <std::size_t Size>
std::optional<std::uint32_t> frame_of(const std::array<int, Size>& code) {
    std::vector<std::byte> bytes;
    for (const int value : code) {
        bytes.push_back(static_cast<std::byte>(value));
    }
    return arch::x86_64::last_frame_bytes(bytes);
}

TEST(LastFrameBytes, TheLastInstructionThatMakesAFrame) {
    EXPECT_EQ(frame_of(std::array{0x48, 0x83, 0xec, 0x18, 0x90}), 0x18U);
    EXPECT_EQ(frame_of(std::array{0x48, 0x83, 0xec, 0x18, 0x48, 0x83, 0xec, 0x08}), 0x08U);
    EXPECT_EQ(frame_of(std::array{0x48, 0x81, 0xec, 0x00, 0x02, 0x00, 0x00, 0xc3}), 0x200U);
    EXPECT_EQ(frame_of(std::array{0x90, 0x90, 0xc3}), std::nullopt);
    EXPECT_EQ(frame_of(std::array{0x90, 0x48, 0x83, 0xec}), std::nullopt) << "it is cut off";
}

TEST(MayBeHalfMade, OldReturnAddressesInANewFrame) {
    const std::vector<std::uint64_t> words = {kNil, kCode + 8, kNil, kCode + 16, kExit};
    EXPECT_TRUE(may_be_half_made(rules(), words, 24)) << "which of the two ends the frame?";
    EXPECT_FALSE(may_be_half_made(rules(), words, 8)) << "the first one is behind the frame";
    EXPECT_FALSE(may_be_half_made(rules(), words, 16)) << "no frame ends there";
    EXPECT_FALSE(may_be_half_made(rules(), words, 400)) << "the frame is beyond the words";
}

TEST(MayBeHalfMade, AFramePointerBeforeTheReturnAddress) {
    const std::vector<std::uint64_t> words = {kCode + 8, kNil, kTop + 64, kCode + 16, kExit};
    EXPECT_TRUE(may_be_half_made(rules(), words, 16));
}

}  // namespace
}  // namespace beamdump::sampler
