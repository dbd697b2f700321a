#include <libvm/arch/aarch64/function_start.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace beamdump::arch::aarch64 {
namespace {

/// An instruction, and which of its bits are fixed.
struct Expected {
    std::uint32_t word;
    std::uint32_t fixed = ~std::uint32_t{0};
};

constexpr std::uint32_t kWideRegister = 0x80000000;  // x22 in OTP 25, w22 in 27

constexpr Expected kPushReturnAddress{0xf81f8e9e};               // str x30, [x20, #-8]!
constexpr Expected kFlag{0x52800000, 0x7fe0001f};                // movz x0, FLAG
constexpr Expected kTrampoline{0x94000000, 0xfc000000};          // bl TRAMPOLINE
constexpr Expected kLessReductions{0x710006d6, ~kWideRegister};  // subs w22, w22, #1
constexpr Expected kYield{0x5400000d, 0xff00001f};               // b.le YIELD

constexpr std::array kStartWithFlag = {kPushReturnAddress,
                                       Expected{0x14000003},  // b +12
                                       kFlag,
                                       kTrampoline,
                                       Expected{0x10ffff82},  // adr x2, -16
                                       kLessReductions,
                                       kYield};
constexpr std::array kStart = {kPushReturnAddress, Expected{0x14000002},  // b +8
                               kTrampoline,        Expected{0x10ffffa2},  // adr x2, -12
                               kLessReductions,    kYield};
constexpr std::array<std::uint64_t, 5> kInstructionsWithFlag = {4, 16, 20, 24, 28};
constexpr std::array<std::uint64_t, 5> kInstructions = {4, 12, 16, 20, 24};

template <std::size_t kCount>
bool is(const std::array<Expected, kCount>& expected, std::span<const std::byte> code) {
    std::array<std::uint32_t, kCount> words{};
    if (code.size() != sizeof words) {
        return false;
    }
    std::memcpy(words.data(), code.data(), sizeof words);
    return std::ranges::equal(words, expected, [](std::uint32_t word, const Expected& one) {
        return (word & one.fixed) == one.word;
    });
}

constexpr std::array kWays = {
    FunctionStart{sizeof(std::uint32_t) * kStartWithFlag.size(), kInstructionsWithFlag,
                  [](std::span<const std::byte> code) { return is(kStartWithFlag, code); }},
    FunctionStart{sizeof(std::uint32_t) * kStart.size(), kInstructions,
                  [](std::span<const std::byte> code) { return is(kStart, code); }}};

constexpr std::array<std::uint8_t, 6> kArguments = {25, 26, 27, 28, 15, 16};

}  // namespace

FunctionStarts function_starts() {
    return {kWays, kArguments};
}

}  // namespace beamdump::arch::aarch64
