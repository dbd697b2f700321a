#include <libvm/arch/aarch64/registers.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace beamdump::arch::aarch64 {
namespace {

using ::testing::Eq;
using ::testing::Optional;

constexpr std::uint32_t kSystemCall = 0xd4000001;  // svc #0
constexpr std::uint32_t kReturn = 0xd65f03c0;      // ret
constexpr std::uint64_t kFutex = 98;
constexpr std::uint64_t kEpollPwait = 22;

/// A thread of which the kernel has no system call.
ThreadRegisters stopped(std::uint64_t x0, std::uint64_t number) {
    KernelRegisters all{};
    all.x[0] = x0;
    all.x[8] = number;
    return thread_registers(7, all, -1);
}

TEST(Aarch64Registers, AThreadBeforeASystemCallIsInIt) {
    auto thread = stopped(0x1000, kFutex);
    set_stopped_call(thread, kReturn, kSystemCall);
    EXPECT_TRUE(thread.in_system_call());
    EXPECT_EQ(thread.system_call, kFutex);
    EXPECT_THAT(thread.first_argument, Optional(0x1000U));
}

TEST(Aarch64Registers, AThreadThatAStopTookOutOfACallHasLostTheFirstArgument) {
    auto thread = stopped(static_cast<std::uint64_t>(-EINTR), kEpollPwait);
    set_stopped_call(thread, kSystemCall, kReturn);
    EXPECT_EQ(thread.system_call, kEpollPwait);
    EXPECT_THAT(thread.first_argument, Eq(std::nullopt));
}

TEST(Aarch64Registers, AThreadElsewhereIsInNone) {
    auto returned = stopped(3, kEpollPwait);  // the call has done its work
    set_stopped_call(returned, kSystemCall, kReturn);
    EXPECT_FALSE(returned.in_system_call());
    auto elsewhere = stopped(static_cast<std::uint64_t>(-EINTR), kEpollPwait);
    set_stopped_call(elsewhere, kReturn, kReturn);
    EXPECT_FALSE(elsewhere.in_system_call());
    auto no_number = stopped(0, std::uint64_t{1} << 40U);
    set_stopped_call(no_number, kReturn, kSystemCall);
    EXPECT_FALSE(no_number.in_system_call());
}

}  // namespace
}  // namespace beamdump::arch::aarch64
