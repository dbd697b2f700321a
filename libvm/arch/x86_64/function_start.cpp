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

constexpr std::array kStartOf24 = {0xeb, 0x06, kAny, 0xe8, kAny, kAny, kAny, kAny,  // the same
                                   0x49, 0xff, 0xce,                                // dec r14
                                   0x7f, 0x0c,                                      // jg next
                                   0x48, 0x8d, 0x15, 0xf4, 0xff, 0xff, 0xff,  // lea rdx, [rip - 12]
                                   0xe8, kAny, kAny, kAny, kAny};             // call the yield
constexpr std::array<std::uint64_t, 6> kInstructionsOf24 = {0, 8, 11, 13, 20, 25};

template <std::size_t Size>
bool is(const std::array<int, Size>& start, std::span<const std::byte> code) {
    for (std::size_t index = 0; index < Size; ++index) {
        if (start.at(index) != kAny && std::to_integer<int>(code[index]) != start.at(index)) {
            return false;
        }
    }
    return true;
}

bool begins(std::span<const std::byte> code) {
    const auto prefix = std::to_integer<int>(code[kDecrement]);
    return is(kStart, code) && (prefix == 0x41 || prefix == 0x49);
}

bool begins_in_24(std::span<const std::byte> code) {
    return is(kStartOf24, code);
}

constexpr std::array kWays = {FunctionStart{kStart.size(), kInstructions, begins},
                              FunctionStart{kStartOf24.size(), kInstructionsOf24, begins_in_24}};

}  // namespace

FunctionStarts function_starts() {
    return {kWays, {}};
}

}  // namespace beamdump::arch::x86_64
