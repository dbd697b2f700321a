#include <libdump/base/bytes.h>
#include <libvm/arch/x86_64/host/signal_frame.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <sys/syscall.h>
#include <ucontext.h>

namespace beamdump::target {
namespace {

using ::testing::HasSubstr;

constexpr Gadgets kGadgets{0x7f0000001000, 0x7f0000002000};
constexpr memory::Address kAt = 0x7fff00000040;
constexpr std::uint64_t kAvx = 7;  // x87, SSE and AVX
constexpr XsaveShape kAvxShape{kAvx, 832};

user_regs_struct registers() {
    user_regs_struct registers{};
    registers.cs = 0x33;
    registers.ss = 0x2b;
    registers.rax = static_cast<unsigned long long>(-512LL);
    registers.orig_rax = SYS_read;
    registers.rip = 0x401002;
    registers.rsp = 0x7fff00100000;
    registers.r15 = 15;
    registers.eflags = 0x246;
    return registers;
}

std::vector<std::byte> register_set(std::size_t bytes, std::uint64_t features,
                                    std::uint64_t in_use) {
    std::vector<std::byte> set(bytes, std::byte{0x5a});
    store(set, 464, features);
    store(set, 512, in_use);
    store(set, 520, std::uint64_t{0});
    return set;
}

/// A frame's ucontext, as the C library declares what the kernel reads.
ucontext_t context_at(const FrameChain& chain, std::size_t offset) {
    ucontext_t context{};
    const auto frame = std::span(chain.bytes()).subspan(offset, kFrameBytes);
    EXPECT_EQ(load_known<std::uint64_t>(frame), kGadgets.sigreturn);
    std::memcpy(&context, frame.subspan(8).data(), kFrameBytes - 8);
    return context;
}

std::uint64_t in(const ucontext_t& context, int name) {
    return static_cast<std::uint64_t>(context.uc_mcontext.gregs[name]);
}

TEST(FrameChain, ACallHasItsArgumentsAndReturnsIntoTheNextFrame) {
    FrameChain chain(kAt, kGadgets, registers());
    chain.call({SYS_clone, {1, 2, 3, 4, 5, 6}});
    chain.call({SYS_exit, {7}});
    EXPECT_EQ(chain.bytes().size(), 2 * kFrameBytes);
    EXPECT_EQ(chain.entry(), kAt);
    EXPECT_EQ(chain.sigreturn_entry(), kAt + 8);
    const auto first = context_at(chain, 0);
    EXPECT_EQ(in(first, REG_RAX), SYS_clone);
    EXPECT_EQ(in(first, REG_RDI), 1U);
    EXPECT_EQ(in(first, REG_RSI), 2U);
    EXPECT_EQ(in(first, REG_RDX), 3U);
    EXPECT_EQ(in(first, REG_R10), 4U);
    EXPECT_EQ(in(first, REG_R8), 5U);
    EXPECT_EQ(in(first, REG_R9), 6U);
    EXPECT_EQ(in(first, REG_RIP), kGadgets.syscall_return);
    EXPECT_EQ(in(first, REG_RSP), kAt + kFrameBytes);
    EXPECT_EQ(in(first, REG_CSGSFS) & 0xffff, 0x33U);
    EXPECT_EQ(in(first, REG_CSGSFS) >> 48U, 0x2bU);
    EXPECT_EQ(first.uc_mcontext.fpregs, nullptr);
    EXPECT_EQ(sigismember(&first.uc_sigmask, SIGTERM), 1);
    const auto second = context_at(chain, kFrameBytes);
    EXPECT_EQ(in(second, REG_RAX), SYS_exit);
    EXPECT_EQ(in(second, REG_RDI), 7U);
    EXPECT_EQ(in(second, REG_RSP), kAt + 2 * kFrameBytes);
}

TEST(FrameChain, TheAlternateStackIsAskedForInAModeThatTheKernelIgnores) {
    FrameChain chain(kAt, kGadgets, registers());
    chain.call({SYS_exit, {0}});
    const auto context = context_at(chain, 0);
    EXPECT_NE(context.uc_stack.ss_flags, 0);
    EXPECT_NE(context.uc_stack.ss_flags, SS_ONSTACK);
    EXPECT_NE(context.uc_stack.ss_flags, SS_DISABLE);
}

TEST(FrameChain, ResumingGivesAllRegistersBack) {
    ThreadState state;
    state.registers = restarted(registers()).value();
    state.extended = xsave_for_frame(register_set(832, kAvx, kAvx), kAvxShape).value();
    state.signal_mask = 0x4000;
    FrameChain chain(kAt, kGadgets, registers());
    chain.call({SYS_clone, {}});
    chain.resume(state);
    const auto context = context_at(chain, kFrameBytes);
    EXPECT_EQ(in(context, REG_RAX), SYS_read);
    EXPECT_EQ(in(context, REG_RIP), 0x401000U);
    EXPECT_EQ(in(context, REG_RSP), 0x7fff00100000U);
    EXPECT_EQ(in(context, REG_R15), 15U);
    EXPECT_EQ(in(context, REG_EFL), 0x246U);
    EXPECT_EQ(load_known<std::uint64_t>(bytes_of(context.uc_sigmask)), 0x4000U);
    EXPECT_EQ(context.uc_flags, 7U);
    const auto xsave = reinterpret_cast<std::uint64_t>(context.uc_mcontext.fpregs);
    EXPECT_EQ(xsave % 64, 0U);
    ASSERT_GE(xsave, kAt + 2 * kFrameBytes);
    EXPECT_EQ(chain.bytes().size(), xsave - kAt + state.extended.size());
    EXPECT_EQ(load_known<std::uint32_t>(chain.bytes(), xsave - kAt + 464), 0x46505853U);
}

TEST(XsaveForFrame, IsMarkedAndOtherwiseUnchanged) {
    const auto set = register_set(2696, kAvx, 3);
    const auto frame = xsave_for_frame(set, kAvxShape).value();
    ASSERT_EQ(frame.size(), 832U + 4);
    EXPECT_EQ(load_known<std::uint32_t>(frame, 464), 0x46505853U);
    EXPECT_EQ(load_known<std::uint32_t>(frame, 468), 836U);
    EXPECT_EQ(load_known<std::uint64_t>(frame, 472), kAvx);
    EXPECT_EQ(load_known<std::uint32_t>(frame, 480), 832U);
    EXPECT_EQ(load_known<std::uint32_t>(frame, 832), 0x46505845U);
    EXPECT_TRUE(std::equal(frame.begin(), frame.begin() + 464, set.begin()));
    EXPECT_TRUE(std::equal(frame.begin() + 512, frame.begin() + 832, set.begin() + 512));
}

TEST(XsaveForFrame, RefusesWhatAFrameCannotHold) {
    EXPECT_EQ(xsave_for_frame(register_set(700, kAvx, 3), kAvxShape).error().code,
              ErrorCode::kImplausible);
    const std::uint64_t tile_data = 1U << 18U;
    const auto in_use =
        xsave_for_frame(register_set(11008, kAvx | tile_data, tile_data), kAvxShape);
    ASSERT_FALSE(in_use);
    EXPECT_EQ(in_use.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(in_use.error().message, HasSubstr("0x40000"));
    auto compacted = register_set(832, kAvx, 3);
    store(compacted, 520, std::uint64_t{1} << 63U);
    EXPECT_EQ(xsave_for_frame(compacted, kAvxShape).error().code, ErrorCode::kImplausible);
}

TEST(XsaveShape, LeavesOutWhatAThreadHasOnlyOnRequest) {
    const auto plain = xsave_shape(3);
    EXPECT_EQ(plain.bytes, 576U);
    EXPECT_EQ(plain.features, 3U);
    const auto with_tiles = xsave_shape(3 | (1U << 18U));
    EXPECT_EQ(with_tiles.features, 3U);
    EXPECT_EQ(with_tiles.bytes, 576U);
    EXPECT_EQ(xsave_features(register_set(832, kAvx, 3)), kAvx);
    EXPECT_EQ(xsave_features({}), 0U);
}

TEST(Restarted, BeginsAnInterruptedCallAnew) {
    for (const long long code : {-512LL, -513LL, -514LL}) {
        auto stopped = registers();
        stopped.rax = static_cast<unsigned long long>(code);
        const auto again = restarted(stopped).value();
        EXPECT_EQ(again.rax, static_cast<unsigned long long>(SYS_read));
        EXPECT_EQ(again.rip, stopped.rip - 2);
        EXPECT_EQ(again.orig_rax, ~0ULL);
    }
}

TEST(Restarted, LeavesAnEndedCallAndOtherCodeAsTheyAre) {
    auto ended = registers();
    ended.rax = static_cast<unsigned long long>(-4LL);  // EINTR
    EXPECT_EQ(restarted(ended)->rax, ended.rax);
    EXPECT_EQ(restarted(ended)->rip, ended.rip);
    auto elsewhere = registers();
    elsewhere.orig_rax = ~0ULL;
    EXPECT_EQ(restarted(elsewhere)->rax, elsewhere.rax);
    EXPECT_EQ(restarted(elsewhere)->rip, elsewhere.rip);
}

TEST(Restarted, RefusesASleepWithATimeOut) {
    auto asleep = registers();
    asleep.rax = static_cast<unsigned long long>(-516LL);
    const auto again = restarted(asleep);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace beamdump::target
