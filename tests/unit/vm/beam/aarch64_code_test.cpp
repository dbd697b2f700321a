#include "support/fake_memory.h"

#include <libvm/arch/aarch64/call_code.h>
#include <libvm/arch/call_code.h>
#include <libvm/arch/code_constants.h>
#include <libvm/arch/system_calls.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <utility>
#include <vector>

namespace beamdump::arch {
namespace {

using test::FakeMemory;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kHere = Architecture::kAarch64;
constexpr TopFields kFields{.heap_top = 96, .stack_top = 104};
constexpr std::uint64_t kFragmentBegin = 0x40000000;

using Words = std::vector<std::uint32_t>;

Code code_of(const Words& words) {
    return std::as_bytes(std::span(words));
}

/// The fragment of heavy BIFs as OTP 25 makes it, where the tops are at 96 and 104.
Words heavy_bif() {
    return {0xa9bf7bfd,   // stp x29, x30, [sp, #-16]!
            0x910003fd,   // mov x29, sp
            0xa90652b7,   // stp x23, x20, [x21, #96]
            0xaa1503e0,   // mov x0, x21
            0x91010261,   // add x1, x19, #64
            0xd2824688,   // movz x8, #0x1234
            0xf2aacf08,   // movk x8, #0x5678, lsl #16
            0xf2c00028,   // movk x8, #1, lsl #32
            0xd63f0100,   // blr x8
            0x910003bf,   // mov sp, x29
            0xa8c17bfd,   // ldp x29, x30, [sp], #16
            0xa94652b7,   // ldp x23, x20, [x21, #96]
            0xd65f03c0};  // ret
}

TEST(CallsOnAarch64, AFragmentSaysWhatItCallsAndWhereItGoesOn) {
    const auto call =
        fragment_call(kHere, code_of(heavy_bif()), kFragmentBegin, Called::kFunction, kFields);
    ASSERT_TRUE(call);
    EXPECT_EQ(call->behind, 36U);
    EXPECT_EQ(call->x_registers, 64U);
    EXPECT_EQ(call->callee, 0x156781234U);
    EXPECT_FALSE(call->callee_word);
    const auto given =
        fragment_call(kHere, code_of(heavy_bif()), kFragmentBegin, Called::kRegister, kFields);
    ASSERT_TRUE(given);
    EXPECT_FALSE(given->callee);
}

TEST(CallsOnAarch64, CodeBehindACallTakesTheStackFromTheStructureOrFromItsRegister) {
    const auto words = heavy_bif();
    const Words behind(words.begin() + 9, words.end());
    EXPECT_TRUE(takes_stack_from_structure(kHere, code_of(behind), kFields));
    EXPECT_FALSE(
        takes_stack_from_structure(kHere, code_of(behind), {.heap_top = 88, .stack_top = 96}));
    EXPECT_FALSE(takes_stack_from_structure(kHere, code_of({0xd503201f, 0xd65f03c0}), kFields));
    EXPECT_TRUE(takes_stack_from_structure(kHere, code_of({0xf94036b4}), kFields))
        << "ldr x20, [x21, #104]";
    EXPECT_FALSE(takes_stack_from_structure(kHere, {}, kFields));
    EXPECT_TRUE(calls_register(kHere, code_of({0xd63f0100})));
    EXPECT_FALSE(calls_register(kHere, code_of({0x94000000}))) << "bl";
}

TEST(FramesOnAarch64, TheLastInstructionThatMakesAFrame) {
    EXPECT_EQ(last_frame_bytes(kHere, code_of({0xd1004294, 0xd503201f})), 16U);
    EXPECT_EQ(last_frame_bytes(kHere, code_of({0xd1004294, 0xd1008294})), 32U);
    EXPECT_EQ(last_frame_bytes(kHere, code_of({0xd1400694})), 4096U) << "shifted";
    EXPECT_EQ(last_frame_bytes(kHere, code_of({0x91004294})), std::nullopt) << "it is given back";
    EXPECT_EQ(last_frame_bytes(kHere, {}), std::nullopt);
}

TEST(FramesOnAarch64, AReturnAddressIsInItsRegisterBeforeItIsPutOnTheStackAndAfterItWasTaken) {
    constexpr std::uint32_t kPush = 0xf81f8e9e;  // str x30, [x20, #-8]!
    constexpr std::uint32_t kPop = 0xf840869e;   // ldr x30, [x20], #8
    constexpr std::uint32_t kPair = 0xa8c17a99;  // ldp x25, x30, [x20], #16
    constexpr std::uint32_t kCall = 0x94000010, kReturn = 0xd65f03c0, kNop = 0xd503201f;
    constexpr std::uint32_t kJump = 0x14000004;
    const auto in_register = [](const Words& words) {
        return aarch64::return_is_in_register(code_of(words));
    };
    EXPECT_TRUE(in_register({kPush})) << "the first instruction";
    EXPECT_TRUE(in_register({kNop, kReturn, kPush})) << "of the next function";
    EXPECT_FALSE(in_register({kPush, kNop}));
    EXPECT_TRUE(in_register({kPush, kNop, kPop, kNop, kReturn}));
    EXPECT_TRUE(in_register({kPush, kNop, kPair, kReturn}));
    EXPECT_FALSE(in_register({kPush, kPop})) << "it is just being taken";
    EXPECT_FALSE(in_register({kPop, kReturn, kNop})) << "another way leads there";
    EXPECT_FALSE(in_register({kPop, kJump, kNop}));
    EXPECT_FALSE(in_register({kPop, kCall, kNop}));
    EXPECT_FALSE(in_register({}));
}

TEST(CallsOnAarch64, CodeThatDoesNotSaveBothTopsIsNone) {
    for (const std::size_t without : {2U, 4U, 8U, 11U}) {
        auto words = heavy_bif();
        words[without] = 0xd503201f;  // nop
        EXPECT_FALSE(
            fragment_call(kHere, code_of(words), kFragmentBegin, Called::kRegister, kFields))
            << without;
    }
    const auto words = heavy_bif();
    EXPECT_FALSE(fragment_call(kHere, code_of(words), kFragmentBegin, Called::kRegister,
                               {.heap_top = 88, .stack_top = 96}));
    EXPECT_FALSE(fragment_call(kHere, code_of(words), kFragmentBegin, Called::kRegister,
                               {.heap_top = 96, .stack_top = 88}));
}

TEST(CallsOnAarch64, AFunctionThatTheCodeDoesNotNameIsNotKnown) {
    auto words = heavy_bif();
    words[5] = 0xf9400028;  // ldr x8, [x1]
    EXPECT_FALSE(fragment_call(kHere, code_of(words), kFragmentBegin, Called::kFunction, kFields));
    EXPECT_TRUE(fragment_call(kHere, code_of(words), kFragmentBegin, Called::kRegister, kFields));
}

TEST(CallsOnAarch64, LiveRegistersAreSetRightBeforeACollection) {
    const auto live = [](std::uint32_t first, std::uint32_t second) {
        const Words words{first, second};
        return live_before_call(kHere, code_of(words));
    };
    constexpr std::uint32_t kCall = 0x94000010;  // bl
    EXPECT_EQ(live(0xd2800083, kCall), 4U);      // movz x3, #4
    EXPECT_EQ(live(0x52800083, kCall), 4U);      // movz w3, #4
    EXPECT_EQ(live(0xaa1f03e3, kCall), 0U);      // mov x3, xzr
    EXPECT_FALSE(live(0xd2800084, kCall));       // movz x4, #4
    EXPECT_FALSE(live(0xd2800083, 0xd503201f));  // no call
    EXPECT_FALSE(live(0xd2808023, kCall));       // more than there are
}

/// A thread's own stack below its scheduler's registers.
class RecordsOnAarch64 : public ::testing::Test {
  protected:
    static constexpr std::uint64_t kStack = 0x7f0000;
    static constexpr std::uint64_t kRegisters = kStack + 0x1000;
    static constexpr std::uint64_t kFragment = kRegisters - 16;
    static constexpr std::uint64_t kCaller = 0x111000, kToFragment = 0x222000, kInner = 0x333000,
                                   kDeepest = 0x444000;

    RecordsOnAarch64() {
        memory_.add("stack", kStack, 0x2000);
        put(kFragment, kRegisters, kCaller);
        put(kFragment - 64, kFragment, kToFragment);
        put(kFragment - 128, kFragment - 64, kInner);
    }
    void put(std::uint64_t at, std::uint64_t frame, std::uint64_t returns_to) {
        memory_.put(at, frame);
        memory_.put(at + 8, returns_to);
    }
    std::optional<NativeReturns> from(std::uint64_t frame) {
        ThreadRegisters thread{.stack_pointer = kFragment - 256, .general_count = 32};
        thread.general_words[29] = frame;
        thread.general_words[30] = kDeepest;
        return native_returns(kHere, thread, kRegisters, memory_);
    }

    FakeMemory memory_;
};

TEST_F(RecordsOnAarch64, LeadToTheFragmentAndItsCaller) {
    const auto found = from(kFragment - 128);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->to_code, kToFragment);
    EXPECT_THAT(found->to_native, ElementsAre(kInner));
    EXPECT_EQ(found->caller, kCaller);
}

TEST_F(RecordsOnAarch64, AFunctionWithoutARecordReturnsByItsRegister) {
    const auto found = from(kFragment);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->to_code, kDeepest);
    EXPECT_THAT(found->to_native, IsEmpty());
}

TEST_F(RecordsOnAarch64, CodeThatPutsNoRecordHasNoCaller) {
    put(kFragment - 64, kRegisters, kToFragment);
    const auto found = from(kFragment - 128);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->to_code, kToFragment);
    EXPECT_FALSE(found->caller);
}

TEST_F(RecordsOnAarch64, ASignatureIsNoPartOfAnAddress) {
    put(kFragment - 64, kFragment, kToFragment | 0x002a000000000000);
    const auto found = from(kFragment - 128);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->to_code, kToFragment);
}

TEST_F(RecordsOnAarch64, RecordsThatLeadElsewhereTellNothing) {
    EXPECT_FALSE(from(kStack + 8));           // no record's place
    EXPECT_FALSE(from(kRegisters + 64));      // above the registers
    EXPECT_FALSE(from(kFragment - 512));      // below the stack pointer
    put(kFragment - 64, kFragment - 128, 1);  // in a circle
    EXPECT_FALSE(from(kFragment - 128));
    put(kFragment - 64, kFragment, kToFragment);
    put(kFragment, kRegisters + 32, kCaller);
    EXPECT_FALSE(from(kFragment - 128));
}

TEST(ConstantsOnAarch64, ArePutTogetherInOneRegister) {
    const auto in = [](const Words& words) {
        std::vector<std::uint64_t> found;
        each_code_constant(kHere, code_of(words), 0x10000,
                           [&](std::uint64_t value, ConstantUse) { found.push_back(value); });
        return found;
    };
    const auto words = heavy_bif();
    EXPECT_THAT(in(words), ElementsAre(0x56781234U, 0x156781234U));
    auto other = words;
    other[6] = 0xf2aacf09;  // movk x9: of another register
    EXPECT_THAT(in(other), IsEmpty());
    auto apart = words;
    apart[6] = 0xd503201f;  // nop
    EXPECT_THAT(in(apart), IsEmpty());
}

TEST(ConstantsOnAarch64, TheCodeIndexIsWhatCodeKeepsInItsRegister) {
    Words words{0xd282468e,   // movz x14, #0x1234
                0xf2aacf0e,   // movk x14, #0x5678, lsl #16
                0xb94001ce,   // ldr w14, [x14]
                0xf1000f1f,   // cmp x24, #3
                0x9a8e0318};  // csel x24, x24, x14, eq
    const auto uses = [&] {
        std::vector<ConstantUse> found;
        each_code_constant(kHere, code_of(words), 0x10000,
                           [&](std::uint64_t, ConstantUse use) { found.push_back(use); });
        return found;
    };
    EXPECT_THAT(uses(), ElementsAre(ConstantUse::kCodeIndex));
    for (const std::size_t without : {2U, 3U, 4U}) {
        const auto kept = std::exchange(words[without], 0xd503201f);
        EXPECT_THAT(uses(), ElementsAre(ConstantUse::kUnknown)) << without;
        words[without] = kept;
    }
    words.pop_back();
    EXPECT_THAT(uses(), ElementsAre(ConstantUse::kUnknown));
}

TEST(SystemCallsOnAarch64, AreNotThoseOfX86) {
    // futex and read have these numbers.
    EXPECT_FALSE(waits_outside(kHere, 98));
    EXPECT_TRUE(waits_outside(kHere, 63));
    EXPECT_TRUE(is_restarted(kHere, 128));
    EXPECT_FALSE(is_restarted(kHere, 219));
}

}  // namespace
}  // namespace beamdump::arch
