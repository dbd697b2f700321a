#include <libdump/format/node_signals.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

namespace beamdump::format::signals {
namespace {

TEST(NodeSignals, AreLinuxNumbers) {
    EXPECT_EQ((std::array{kIll, kAbrt, kBus, kFpe, kSegv}),
              (std::array{SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV}));
    EXPECT_EQ((std::array{kIllIllopc, kIllIllopn, kIllPrvopc, kFpeIntdiv, kFpeIntovf}),
              (std::array<int, 5>{ILL_ILLOPC, ILL_ILLOPN, ILL_PRVOPC, FPE_INTDIV, FPE_INTOVF}));
    EXPECT_EQ(
        (std::array{kSegvMaperr, kSegvAccerr, kBusAdraln, kBusAdrerr, kBusMceerrAr, kBusMceerrAo}),
        (std::array<int, 6>{SEGV_MAPERR, SEGV_ACCERR, BUS_ADRALN, BUS_ADRERR, BUS_MCEERR_AR,
                            BUS_MCEERR_AO}));
    EXPECT_EQ((std::array{kUser, kKernel, kQueue, kTkill}),
              (std::array<int, 4>{SI_USER, SI_KERNEL, SI_QUEUE, SI_TKILL}));
}

TEST(NodeSignals, HaveTheirNames) {
    for (int signal = -1; signal < 70; ++signal) {
        const char* name = ::sigabbrev_np(signal);
        const auto known = name_of(signal);
        EXPECT_EQ(known.has_value(), name != nullptr) << signal;
        if (known && name != nullptr) {
            EXPECT_EQ(*known, fmt::format("SIG{}", name));
        }
    }
}

}  // namespace
}  // namespace beamdump::format::signals
