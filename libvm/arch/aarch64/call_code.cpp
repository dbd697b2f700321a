#include <libvm/arch/aarch64/call_code.h>
#include <libvm/arch/aarch64/code_constants.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace beamdump::arch::aarch64 {
namespace {

constexpr std::uint32_t kProcess = 21, kStackTop = 20, kHeapTop = 23, kScheduler = 19;
constexpr std::uint32_t kRegisterMask = 31;
constexpr std::uint64_t kMostLive = 1024;

using Words = std::vector<std::uint32_t>;

Words words_of(Code code) {
    Words words(code.size() / sizeof(std::uint32_t));
    std::memcpy(words.data(), code.data(), words.size() * sizeof(std::uint32_t));
    return words;
}

/// `stp x23, x20, [x21, heap_top]`, or `ldp`.
std::uint32_t pair_of_tops(std::uint32_t operation, std::uint32_t heap_top) {
    constexpr std::uint32_t kOffsetMask = 127;
    const auto offset = heap_top / sizeof(std::uint64_t) & kOffsetMask;
    return static_cast<std::uint32_t>(operation | offset << 15U | kStackTop << 10U |
                                      kProcess << 5U | kHeapTop);
}

bool calls_register(std::uint32_t word) {
    return (word & 0xfffffc1fU) == 0xd63f0000U;  // blr
}

/// N of `add REGISTER, x19, N`.
std::optional<std::uint64_t> behind_scheduler(std::uint32_t word) {
    constexpr std::uint32_t kImmediate = 0xfff;
    const bool adds =
        (word & 0xffc00000U) == 0x91000000U && (word >> 5U & kRegisterMask) == kScheduler;
    return adds ? std::optional<std::uint64_t>(word >> 10U & kImmediate) : std::nullopt;
}

/// The constant that the instructions before `call` have put into the register that it calls.
/// Nothing: the register is from elsewhere.
std::optional<std::uint64_t> constant_called(const Words& words, std::size_t call) {
    std::optional<MovedConstant> before;
    for (std::size_t at = 0; at < call; ++at) {
        before = moved_constant(before, words[at]);
    }
    const auto name = words[call] >> 5U & kRegisterMask;
    return before && before->name == name ? std::optional(before->value) : std::nullopt;
}

/// N of `movz REGISTER, N` or of `mov REGISTER, xzr`.
std::optional<std::uint64_t> constant_of(std::uint32_t word, std::uint32_t name) {
    if ((word & kRegisterMask) != name) {
        return std::nullopt;
    }
    if ((word & 0x7fe00000U) == 0x52800000U) {
        return word >> 5U & 0xffffU;
    }
    const bool is_zero = (word & 0x7fffffe0U) == 0x2a1f03e0U;
    return is_zero ? std::optional<std::uint64_t>(0) : std::nullopt;
}

}  // namespace

std::optional<FragmentCall> fragment_call(Code code, Called called, const TopFields& fields) {
    if (fields.stack_top != fields.heap_top + sizeof(std::uint64_t)) {
        return std::nullopt;
    }
    const auto words = words_of(code);
    const auto saves = pair_of_tops(0xa9000000, fields.heap_top);
    const auto loads = pair_of_tops(0xa9400000, fields.heap_top);
    bool saved = false;
    std::optional<std::uint64_t> x_registers;
    for (std::size_t at = 0; at < words.size(); ++at) {
        saved = saved || words[at] == saves;
        if (!saved) {
            continue;
        }
        if (const auto behind = behind_scheduler(words[at])) {
            x_registers = behind;
        }
        if (!calls_register(words[at])) {
            continue;
        }
        constexpr std::size_t kBehindCall = 32;
        bool loaded = false;
        for (auto next = at + 1; next < std::min(words.size(), at + 1 + kBehindCall); ++next) {
            loaded = loaded || words[next] == loads;
        }
        const auto callee = called == Called::kFunction ? constant_called(words, at) : std::nullopt;
        if (!loaded || !x_registers || (called == Called::kFunction && !callee)) {
            return std::nullopt;
        }
        return FragmentCall{.behind = (at + 1) * sizeof(std::uint32_t),
                            .x_registers = *x_registers,
                            .callee = callee};
    }
    return std::nullopt;
}

std::optional<std::size_t> behind_register_call(Code code) {
    const auto words = words_of(code);
    for (std::size_t at = 0; at < words.size(); ++at) {
        if (calls_register(words[at])) {
            return (at + 1) * sizeof(std::uint32_t);
        }
    }
    return std::nullopt;
}

bool stack_from_structure(Code code, const TopFields& fields) {
    const auto words = words_of(code);
    const auto offset = static_cast<std::uint32_t>(fields.stack_top / sizeof(std::uint64_t));
    const auto load = 0xf9400000U | offset << 10U | kProcess << 5U | kStackTop;
    const auto pair = pair_of_tops(0xa9400000, fields.heap_top);
    return std::ranges::any_of(words,
                               [&](std::uint32_t word) { return word == pair || word == load; });
}

std::optional<std::uint32_t> last_frame_bytes(Code code) {
    const auto words = words_of(code);
    const auto last = std::ranges::find_if(words.rbegin(), words.rend(), [](std::uint32_t word) {
        return (word & 0xff8003ffU) == (0xd1000000U | kStackTop << 5U | kStackTop);
    });
    if (last == words.rend()) {
        return std::nullopt;
    }
    constexpr std::uint32_t kShift = 12;
    const auto bytes = *last >> 10U & 0xfffU;
    return (*last >> 22U & 1U) != 0 ? bytes << kShift : bytes;
}

bool return_is_in_register(Code code) {
    constexpr std::uint32_t kReturn = 30;
    constexpr std::uint32_t kPush = 0xf81f8e9e;  // str x30, [x20, #-8]!
    /// A return address is taken back so shortly before it is used.
    constexpr std::size_t kMostBetween = 16;
    auto words = words_of(code);
    if (words.empty()) {
        return false;
    }
    if (words.back() == kPush) {
        return true;
    }
    words.pop_back();
    std::size_t seen = 0;
    for (auto at = words.rbegin(); at != words.rend() && seen < kMostBetween; ++at, ++seen) {
        const auto word = *at;
        const auto first = word & kRegisterMask, second = word >> 10U & kRegisterMask;
        const bool from_stack = (word >> 5U & kRegisterMask) == kStackTop;
        // ldr with post-index or an offset; ldp with post-index, or with an offset
        const bool loads =
            (word & 0xffe00c00U) == 0xf8400400U || (word & 0xffc00000U) == 0xf9400000U;
        const bool loads_pair =
            (word & 0xffc00000U) == 0xa8c00000U || (word & 0xffc00000U) == 0xa9400000U;
        if (from_stack && ((loads && first == kReturn) ||
                           (loads_pair && (first == kReturn || second == kReturn)))) {
            return true;
        }
        const bool branches =
            (word & 0xfc000000U) == 0x14000000U || (word & 0xfe000000U) == 0xd6000000U;
        const bool calls = (word & 0xfc000000U) == 0x94000000U;
        if (word == kPush || branches || calls) {
            return false;
        }
    }
    return false;
}

std::optional<std::uint64_t> live_before_call(std::span<const std::byte, kLiveBefore> code) {
    constexpr std::uint32_t kLive = 3;
    const auto words = words_of(code);
    const bool calls = (words[1] & 0xfc000000U) == 0x94000000U;  // bl
    const auto live = constant_of(words[0], kLive);
    return calls && live && *live <= kMostLive ? live : std::nullopt;
}

}  // namespace beamdump::arch::aarch64
