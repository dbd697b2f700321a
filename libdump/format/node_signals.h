#pragma once

#include <optional>
#include <string_view>

/// Signals as a dump has them: Linux' numbers, alike on x86-64 and aarch64 (asm-generic/signal.h
/// and siginfo.h). Those of the system on which a dump is read may differ.
namespace beamdump::format::signals {

inline constexpr int kIll = 4, kAbrt = 6, kBus = 7, kFpe = 8, kSegv = 11;

/// Codes of one signal each.
inline constexpr int kIllIllopc = 1, kIllIllopn = 2, kIllPrvopc = 5;
inline constexpr int kFpeIntdiv = 1, kFpeIntovf = 2;
inline constexpr int kSegvMaperr = 1, kSegvAccerr = 2;
inline constexpr int kBusAdraln = 1, kBusAdrerr = 2, kBusMceerrAr = 4, kBusMceerrAo = 5;
/// Codes of each.
inline constexpr int kUser = 0, kKernel = 0x80, kQueue = -1, kTkill = -6;

/// "SIGSEGV"; nothing: it has no name of its own, as those for real time.
std::optional<std::string_view> name_of(int signal);

}  // namespace beamdump::format::signals
