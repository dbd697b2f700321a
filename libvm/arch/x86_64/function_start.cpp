#include <libvm/arch/x86_64/function_start.h>

#include <array>

namespace beamdump::arch::x86_64 {
namespace {

/// A fixed byte, or any.
constexpr int kAny = -1;

constexpr std::array kStart = {0xeb, 0x06, kAny, 0xe8, kAny, kAny, kAny,
                               kAny,  // jmp +6; flag; call the trampoline
                               0x48, 0x8d, 0x15, 0x09, 0x00, 0x00, 0x00,  // lea rdx, [rip + 9]
                               kAny, 0xff, 0xce,                     // dec r14 (OTP 25), dec r14d
                               0x0f, 0x8e, kAny, kAny, kAny, kAny};  // jle the yield
constexpr std::size_t kDecrement = 15;
constexpr std::array<std::uint64_t, 5> kInstructions = {0, 8, 15, 18, 24};

bool begins(std::span<const std::byte> code) {
    for (std::size_t index = 0; index < kStart.size(); ++index) {
        if (kStart.at(index) != kAny && std::to_integer<int>(code[index]) != kStart.at(index)) {
            return false;
        }
    }
    const auto prefix = std::to_integer<int>(code[kDecrement]);
    return prefix == 0x41 || prefix == 0x49;
}

constexpr std::array kWays = {FunctionStart{kStart.size(), kInstructions, begins}};

}  // namespace

FunctionStarts function_starts() {
    return {kWays, {}};
}

}  // namespace beamdump::arch::x86_64
