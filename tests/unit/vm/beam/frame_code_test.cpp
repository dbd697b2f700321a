#include <libvm/arch/x86_64/frame_code.h>
#include <libvm/arch/x86_64/instruction.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kFramed = 0x7000;

std::vector<std::byte> bytes_of(const std::vector<int>& numbers) {
    std::vector<std::byte> bytes;
    for (const auto number : numbers) {
        bytes.push_back(static_cast<std::byte>(number));
    }
    return bytes;
}

/// What is known behind all of the code.
std::optional<FramePlace> behind(std::vector<int> code) {
    const auto place = kFramed + code.size();
    code.push_back(0xc3);
    const auto read = FrameCode::read(bytes_of(code), kFramed);
    return read ? read->at(place) : std::nullopt;
}

void expect_frame(const std::optional<FramePlace>& frame, std::uint32_t words, bool complete) {
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->words, words);
    EXPECT_EQ(frame->complete, complete);
}

TEST(Instruction, HasTheLengthThatAssemblersGiveIt) {
    struct Case {
        std::vector<int> code;
        std::size_t bytes;
    };
    const std::vector<Case> cases = {
        {{0x90}, 1},
        {{0xc3}, 1},
        {{0xeb, 0x06}, 2},
        {{0x48, 0x89, 0xe5}, 3},                          // mov rbp, rsp
        {{0x48, 0x8d, 0x63, 0xc0}, 4},                    // lea rsp, [rbx - 64]
        {{0x0f, 0x84, 0, 0, 0, 0}, 6},                    // je
        {{0x40, 0xe8, 0, 0, 0, 0}, 6},                    // rex call
        {{0xff, 0x15, 0, 0, 0, 0}, 6},                    // call [rip]
        {{0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, 10},       // mov rax, imm64
        {{0x49, 0xc7, 0x45, 0x70, 0x50, 0x14, 0, 0}, 8},  // mov [r13 + 112], imm
        {{0x66, 0xc7, 0x04, 0x24, 1, 0}, 6},              // mov word [rsp], imm
        {{0xf6, 0x43, 0x08, 0x01}, 4},                    // test byte [rbx + 8], 1
        {{0xf6, 0x53, 0x08}, 3},                          // not byte [rbx + 8]
        {{0x42, 0x8b, 0x84, 0xa6, 0x00, 0x01, 0, 0}, 8},  // mov eax, [rsi + r12*4 + n]
        {{0x8b, 0x04, 0x25, 0, 0, 0, 0}, 7},              // mov eax, [n]
        {{0xc5, 0xf8, 0x77}, 3},                          // vzeroupper
        {{0xc4, 0xe3, 0x79, 0x05, 0x47, 0xff, 0x01}, 7},  // vpermilpd
        {{0x62, 0xf1, 0x7c, 0x48, 0x10, 0x80, 0xfe, 0xff, 0xff, 0xff},
         10},                     // vmovups zmm0, [rax - 2]
        {{0xf3, 0x48, 0xab}, 3},  // rep stosq
    };
    for (const auto& [code, bytes] : cases) {
        auto longer = code;
        longer.resize(longer.size() + 8, 0xcc);
        const auto found = first_instruction(bytes_of(longer));
        ASSERT_TRUE(found) << code[0] << " " << bytes;
        EXPECT_EQ(found->bytes, bytes) << code[0];
        longer.resize(bytes - 1);
        EXPECT_FALSE(first_instruction(bytes_of(longer))) << code[0];
    }
    EXPECT_FALSE(first_instruction(bytes_of({0x06, 0, 0, 0})));  // push es: not in 64-bit code
}

TEST(FrameCode, AJumpIsReadThatIsTakenAlwaysAndSaysWhereItLeads) {
    const auto near = first_jump(bytes_of({0xe9, 0x10, 0, 0, 0}), kFramed);
    ASSERT_TRUE(near);
    EXPECT_EQ(near->target, kFramed + 5 + 0x10);
    EXPECT_FALSE(near->in_word);
    const auto far = first_jump(bytes_of({0xff, 0x25, 0xf8, 0xff, 0xff, 0xff}), kFramed);
    ASSERT_TRUE(far);
    EXPECT_EQ(far->target, kFramed + 6 - 8);
    EXPECT_TRUE(far->in_word);
    EXPECT_FALSE(first_jump(bytes_of({0xff, 0xe0}), kFramed));              // jmp rax
    EXPECT_FALSE(first_jump(bytes_of({0xff, 0x15, 0, 0, 0, 0}), kFramed));  // call [rip]
    EXPECT_FALSE(first_jump(bytes_of({0x0f, 0x84, 0, 0, 0, 0}), kFramed));  // je
    EXPECT_FALSE(first_jump(bytes_of({0xe9, 0x10, 0}), kFramed));           // cut short
}

TEST(FrameCode, AFrameIsCompleteOnceEachWordIsWritten) {
    const std::vector<int> make = {0x48, 0x83, 0xec, 0x18};  // sub rsp, 24
    expect_frame(behind(make), 3, false);
    auto code = make;
    code.insert(code.end(), {0x48, 0x89, 0x3c, 0x24});  // mov [rsp], rdi
    expect_frame(behind(code), 3, false);
    code.insert(code.end(), {0x0f, 0x11, 0x44, 0x24, 0x08});  // movups [rsp + 8], xmm0
    expect_frame(behind(code), 3, true);
    code.insert(code.end(), {0x48, 0x83, 0xc4, 0x08});  // add rsp, 8: trimmed
    expect_frame(behind(code), 2, true);
    code.insert(code.end(), {0x48, 0x83, 0xec, 0x08});
    expect_frame(behind(code), 3, false);
}

TEST(FrameCode, ANarrowStoreWritesNoWord) {
    expect_frame(behind({0x48, 0x83, 0xec, 0x08, 0x89, 0x3c, 0x24}), 1, false);
    // To another register's memory.
    expect_frame(behind({0x48, 0x83, 0xec, 0x08, 0x48, 0x89, 0x3b}), 1, false);
}

TEST(FrameCode, WideStoresAndConstants) {
    const std::vector<int> make = {0x48, 0x83, 0xec, 0x48};  // sub rsp, 72
    auto code = make;
    code.insert(code.end(), {0x62, 0xf1, 0x7c, 0x48, 0x11, 0x04, 0x24});  // vmovups [rsp], zmm0
    expect_frame(behind(code), 9, false);
    code.insert(code.end(), {0x48, 0xc7, 0x44, 0x24, 0x40, 0x3b, 0, 0, 0});  // mov qword [rsp + 64]
    expect_frame(behind(code), 9, true);
    // A displacement of one byte counts vectors there.
    code = {0x48, 0x83, 0xec, 0x78, 0x62, 0xf1, 0x7c, 0x48, 0x11, 0x44, 0x24, 0x01};
    expect_frame(behind(code), 15, false);
}

TEST(FrameCode, RegistersThatAreInitialisedInARow) {
    expect_frame(behind({0x48, 0x83, 0xec, 0x20,        // sub rsp, 32
                         0x48, 0x89, 0x3c, 0x24,        // mov [rsp], rdi
                         0xb8, 0x3b, 0,    0,    0,     // mov eax, 59
                         0x48, 0x8d, 0x7c, 0x24, 0x08,  // lea rdi, [rsp + 8]
                         0xb9, 0x03, 0,    0,    0,     // mov ecx, 3
                         0xf3, 0x48, 0xab}),            // rep stosq
                 4, true);
    expect_frame(behind({0x48, 0x83, 0xec, 0x18, 0xb8, 0x3b, 0,    0,    0,    0x48,
                         0x89, 0xe7, 0x48, 0xab, 0x48, 0x83, 0xc7, 0x08, 0x48, 0xab}),
                 3, false);
    // Of another register nothing is known.
    expect_frame(behind({0x48, 0x83, 0xec, 0x08, 0x48, 0x89, 0xdf, 0x48, 0xab}), 1, false);
}

TEST(FrameCode, AWordWrittenOnOnePathOnlyIsNotWritten) {
    expect_frame(behind({0x48, 0x83, 0xec, 0x08,    // sub rsp, 8
                         0x75, 0x04,                // jne, behind the next
                         0x48, 0x89, 0x3c, 0x24}),  // mov [rsp], rdi
                 1, false);
}

TEST(FrameCode, ALoopIsFollowedUntilNothingChanges) {
    // The way back comes without the store of the way in.
    const auto code = bytes_of({0x48, 0x83, 0xec, 0x08,  // sub rsp, 8
                                0x48, 0x89, 0x3c, 0x24,  // mov [rsp], rdi
                                0x90,                    // here
                                0x48, 0x83, 0xc4, 0x08,  // add rsp, 8
                                0x48, 0x83, 0xec, 0x08,  // sub rsp, 8
                                0xeb, 0xf5});            // jmp here
    const auto read = FrameCode::read(code, kFramed);
    ASSERT_TRUE(read);
    expect_frame(read->at(kFramed + 8), 1, false);
}

TEST(FrameCode, PushedRegistersAreNotOfTheFrame) {
    const std::vector<int> code = {0x48, 0x83, 0xec, 0x08, 0x57, 0x56,  // sub; push; push
                                   0x48, 0x89, 0x7c, 0x24, 0x10};       // mov [rsp + 16], rdi
    const auto frame = behind(code);
    expect_frame(frame, 1, true);
    EXPECT_EQ(frame->pushed, 2U);
}

TEST(FrameCode, CallsOnTheNativeStackLeaveTheFrame) {
    const auto code = bytes_of({0x48, 0x83, 0xec, 0x08,        // sub rsp, 8
                                0x48, 0x89, 0x3c, 0x24,        // mov [rsp], rdi
                                0x48, 0x89, 0xe5,              // mov rbp, rsp
                                0x48, 0x8d, 0x63, 0xc0,        // lea rsp, [rbx - 64]
                                0xff, 0x15, 0x10, 0,    0, 0,  // call [rip + 16]
                                0x48, 0x89, 0xec,              // mov rsp, rbp
                                0xe8, 0x20, 0,    0,    0,     // call
                                0xc3});
    const auto read = FrameCode::read(code, kFramed);
    ASSERT_TRUE(read);
    const auto native = read->at(kFramed + 21);
    expect_frame(native, 1, true);
    EXPECT_TRUE(native->on_native_stack);
    ASSERT_TRUE(native->call);
    EXPECT_TRUE(native->call->in_word);
    EXPECT_EQ(native->call->target, kFramed + 21 + 16);
    const auto erlang = read->at(kFramed + 29);
    expect_frame(erlang, 1, true);
    EXPECT_FALSE(erlang->on_native_stack);
    EXPECT_EQ(erlang->call->target, kFramed + 29 + 32);
    EXPECT_FALSE(read->at(kFramed + 24)->call);
}

/// What is known behind the code of a function of two arguments, whose calls have this effect.
std::optional<FramePlace> with_arguments(std::vector<int> code,
                                         CallEffect effect = CallEffect::kUnknown) {
    const auto place = kFramed + code.size();
    code.push_back(0xc3);
    const auto read = FrameCode::read(bytes_of(code), kFramed,
                                      {2, [effect](const FrameCall&) { return effect; }});
    return read ? read->at(place) : std::nullopt;
}

void expect_x(const std::optional<FramePlace>& frame, std::uint32_t known, bool all) {
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->x_registers, known);
    EXPECT_EQ(frame->all_x_registers, all);
}

TEST(FrameCode, ArgumentsAreInTheXRegisters) {
    expect_x(with_arguments({0x90}), 2, true);
    expect_x(behind({0x90}), 0, false);  // the function is not known
}

TEST(FrameCode, WhatIsWrittenToAnXRegisterIsThere) {
    expect_x(with_arguments({0x48, 0x89, 0x43, 0x10}), 3, true);  // mov [rbx + 16], rax
    expect_x(with_arguments({0x0f, 0x11, 0x43, 0x10}), 4, true);  // movups [rbx + 16], xmm0
    // mov [rbx + 24], rax: with a gap before it
    expect_x(with_arguments({0x48, 0x89, 0x43, 0x18}), 2, false);
    expect_x(with_arguments({0x48, 0xc7, 0x03, 0, 0, 0, 0}), 0, false);  // mov [rbx], no term
    expect_x(with_arguments({0x88, 0x43, 0x08}), 1, false);              // a byte of it
    expect_x(with_arguments({0x4a, 0x89, 0x04, 0xcb}), 0, false);        // mov [rbx + r9 * 8], rax
    expect_x(with_arguments({0x48, 0x89, 0x43, 0xf8}), 2, true);         // mov [rbx - 8], rax
    expect_x(with_arguments({0x48, 0x8b, 0x43, 0x10}), 2, true);         // it is only read
    // On one of two ways: mov [rbx + 16], rax
    expect_x(with_arguments({0x75, 0x04, 0x48, 0x89, 0x43, 0x10}), 2, true);
}

TEST(FrameCode, CallsLeaveInTheXRegistersWhatTheyAreKnownTo) {
    const std::vector<int> call = {0xe8, 0, 1, 0, 0};
    expect_x(with_arguments(call, CallEffect::kUnknown), 0, false);
    expect_x(with_arguments(call, CallEffect::kResult), 1, true);
    expect_x(with_arguments(call, CallEffect::kKeepsAll), 2, true);
    expect_x(with_arguments(call, CallEffect::kCollects), 0, false);
    expect_x(with_arguments({0xff, 0x50, 0x08}), 1, true);  // call [rax + 8]: by an export
    EXPECT_FALSE(with_arguments(call, CallEffect::kNoReturn));
    // mov ecx, 7; nop; call the collection
    const std::vector<int> seven = {0xb9, 7, 0, 0, 0, 0x90, 0xe8, 0, 1, 0, 0};
    expect_x(with_arguments(seven, CallEffect::kCollects), 7, true);
    // xor ecx, ecx
    expect_x(with_arguments({0x31, 0xc9, 0xe8, 0, 1, 0, 0}, CallEffect::kCollects), 0, true);
    // mov ecx, 7; mov cl, 1
    expect_x(with_arguments({0xb9, 7, 0, 0, 0, 0xb1, 1, 0xe8, 0, 1, 0, 0}, CallEffect::kCollects),
             0, false);
}

/// A call of native code, with these instructions before it and behind it.
std::vector<int> native_call(const std::vector<int>& before, const std::vector<int>& behind) {
    std::vector<int> code = {0x48, 0x8d, 0x63, 0xc0};  // lea rsp, [rbx - 64]
    code.insert(code.end(), before.begin(), before.end());
    code.insert(code.end(), {0xff, 0x15, 0x10, 0, 0, 0});  // call [rip + 16]
    code.insert(code.end(), behind.begin(), behind.end());
    return code;
}

TEST(FrameCode, NativeCodeThatMayCollectOrWriteToThemLeavesNoXRegister) {
    const std::vector<int> in_registers = {0x48, 0x89, 0xec};        // mov rsp, rbp
    const std::vector<int> in_structure = {0x49, 0x8b, 0x65, 0x08};  // mov rsp, [r13 + 8]
    expect_x(with_arguments(native_call({}, in_registers)), 2, true);
    expect_x(with_arguments(native_call({}, in_structure)), 0, false);
    // lea rsi, [rbx]; mov rsi, rbx
    expect_x(with_arguments(native_call({0x48, 0x8d, 0x33}, in_registers)), 0, false);
    expect_x(with_arguments(native_call({0x48, 0x89, 0xde}, in_registers)), 0, false);
    // lea rdi, [rbx - 80]: of the scheduler's state beside them
    expect_x(with_arguments(native_call({0x48, 0x8d, 0x7b, 0xb0}, in_registers)), 2, true);
}

TEST(FrameCode, NativeCodeThatCollectsKeepsTheLiveXRegisters) {
    const std::vector<int> in_structure = {0x49, 0x8b, 0x65, 0x08};  // mov rsp, [r13 + 8]
    // mov edx, 6; xor r8d, r8d; mov rdi, [rbx + 8]; mov [rbx + 48], rdi; mov rdi, r13; mov rsi, rbx
    const std::vector<int> append = {0xba, 6,    0,    0,    0,    0x45, 0x31, 0xc0,
                                     0x48, 0x8b, 0x7b, 0x08, 0x48, 0x89, 0x7b, 0x30,
                                     0x4c, 0x89, 0xef, 0x48, 0x89, 0xde};
    expect_x(with_arguments(native_call(append, in_structure)), 6, true);
    auto other = append;
    other[16] = 0x48;
    other[18] = 0xcf;  // mov rdi, rcx
    expect_x(with_arguments(native_call(other, in_structure)), 0, false);
    other = append;
    other[21] = 0xce;  // mov rsi, rcx
    expect_x(with_arguments(native_call(other, in_structure)), 0, false);
    other = append;
    other[1] = 0;  // not how many are live: none may also be another argument
    expect_x(with_arguments(native_call(other, in_structure)), 0, false);
    other = append;
    other[5] = 0x31;
    other[6] = 0xd2;  // xor edx, edx
    other[7] = 0x90;
    expect_x(with_arguments(native_call(other, in_structure)), 0, false);
    // Of two calls, the second may collect without keeping any.
    auto twice = append;
    twice.insert(twice.end(), {0xff, 0x15, 0x10, 0, 0, 0, 0x48, 0x89, 0xde});
    expect_x(with_arguments(native_call(twice, in_structure)), 0, false);
}

TEST(FrameCode, BeforeTheHeapsTopIsInItsRegisterAgainNothingIsKnown) {
    // mov rsp, [r13 + 8]; mov r15, [r13 + 16]
    const auto code = native_call({}, {0x49, 0x8b, 0x65, 0x08, 0x4d, 0x8b, 0x7d, 0x10});
    EXPECT_TRUE(with_arguments(code));
    auto bytes = bytes_of(code);
    bytes.push_back(std::byte{0xc3});
    const auto read = FrameCode::read(bytes, kFramed, {2, {}});
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->at(kFramed + code.size()));
    EXPECT_FALSE(read->at(kFramed + code.size() - 4));
    EXPECT_TRUE(read->at(kFramed + code.size() - 8));
}

TEST(FrameCode, ACallOfTheFunctionItselfHasItsArguments) {
    // nop; nop; then native code that leaves nothing; mov [rbx], rax; jmp to the beginning
    std::vector<int> code = {0x90, 0x90};
    const auto call = native_call({0x48, 0x89, 0xde}, {0x49, 0x8b, 0x65, 0x08});
    code.insert(code.end(), call.begin(), call.end());
    code.insert(code.end(), {0x48, 0x89, 0x03, 0xe9});
    const auto distance = -static_cast<int>(code.size()) - 4;
    for (int shift = 0; shift < 32; shift += 8) {
        code.push_back((distance >> shift) & 0xff);
    }
    const auto read = FrameCode::read(bytes_of(code), kFramed,
                                      {2, [](const FrameCall&) { return CallEffect::kUnknown; }});
    ASSERT_TRUE(read);
    expect_x(read->at(kFramed), 2, true);
    expect_x(read->at(kFramed + 1), 2, true);
    expect_x(read->at(kFramed + code.size() - 5), 1, false);
}

TEST(FrameCode, WhereAFunctionIsEnteredUnseenNoXRegisterIsKnown) {
    // lea rsi, [rip + 1]: it goes on there after a wait; nop
    expect_x(with_arguments({0x48, 0x8d, 0x35, 1, 0, 0, 0, 0x90}), 0, false);
    // inc [r13 + 8]: an exception goes on somewhere
    expect_x(with_arguments({0x49, 0xff, 0x45, 0x08}), 0, false);
    // mov eax, 0x1b: the word of a catch
    expect_x(with_arguments({0xb8, 0x1b, 0, 0, 0}), 0, false);
    // je behind the next; jmp [rax + rcx * 8]: by a table
    expect_x(with_arguments({0x74, 0x03, 0xff, 0x24, 0xc8}), 0, false);
    // jmp [rax + r12 * 8]: to another function
    expect_x(with_arguments({0x74, 0x04, 0x42, 0xff, 0x24, 0xe0}), 2, true);
    // At its beginning it goes on with its arguments: jmp; nops; lea rdx, [rip + 9]; dec r14; jle
    expect_x(with_arguments({0xeb, 0x06, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x48, 0x8d, 0x15, 9,
                             0,    0,    0,    0x49, 0xff, 0xce, 0x0f, 0x8e, 0,    1,    0,    0}),
             2, true);
}

TEST(FrameCode, FramesThatContradictEachOtherAreNotKnown) {
    // Two ways to one place, with a frame and without.
    EXPECT_FALSE(behind({0x75, 0x04, 0x48, 0x83, 0xec, 0x08}));
}

TEST(FrameCode, AnUnknownInstructionMakesTheFrameUnknown) {
    EXPECT_FALSE(behind({0x48, 0x83, 0xec, 0x08, 0x06}));        // no instruction
    EXPECT_FALSE(behind({0x48, 0x89, 0xc4}));                    // mov rsp, rax
    EXPECT_FALSE(behind({0x48, 0x83, 0xec, 0x08, 0xff, 0xe0}));  // jmp rax, with a frame
    EXPECT_FALSE(behind({0x48, 0x83, 0xc4, 0x08}));              // add rsp, 8: not its own
    const auto read = FrameCode::read(bytes_of({0x90, 0xc3, 0x90}), kFramed);
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->at(kFramed + 1));
    EXPECT_FALSE(read->at(kFramed + 2));  // no way leads there
    EXPECT_FALSE(read->at(kFramed - 1));
}

}  // namespace
}  // namespace beamdump::beam
