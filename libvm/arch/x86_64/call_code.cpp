#include <libvm/arch/x86_64/call_code.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

namespace beamdump::arch::x86_64 {
namespace {

constexpr std::array kToNativeStack = {std::byte{0x48}, std::byte{0x8d}, std::byte{0x63}};
constexpr std::array kIndirectCall = {std::byte{0xff}, std::byte{0x15}};
constexpr std::size_t kOperandBytes = 4;
constexpr std::uint64_t kMostLive = 1024;
/// Jumps to the place: the collection is forced, or the heap or the binaries are full.
constexpr std::size_t kJumps = 3;
/// Bytes of `jcc rel32`, 0F 80 to 0F 8F; and of `call [rip + rel32]`, FF 15.
constexpr std::size_t kJumpBytes = 6;
constexpr std::size_t kCallBytes = 6;

std::optional<std::size_t> find(Code code, Code wanted, std::size_t from = 0) {
    const auto found = std::ranges::search(code.subspan(from), wanted);
    return found.empty() ? std::nullopt
                         : std::optional(static_cast<std::size_t>(found.begin() - code.begin()));
}

std::int32_t relative(Code code, std::size_t at) {
    std::int32_t value = 0;
    std::memcpy(&value, code.data() + at, sizeof(value));
    return value;
}

bool jumps_at(Code code, std::size_t at) {
    return code[at] == std::byte{0x0f} && (code[at + 1] & std::byte{0xf0}) == std::byte{0x80};
}

/// Whether a function begins by saving a frame pointer (`push rbp`).
bool saves_frame_pointer(Code code) {
    return !code.empty() && code.front() == std::byte{0x55};
}

struct NativeSwitch {
    std::size_t behind = 0;
    std::uint64_t from_registers = 0;
};

std::optional<NativeSwitch> native_switch(Code code) {
    const auto at = find(code, kToNativeStack);
    if (!at || *at + kToNativeStack.size() >= code.size()) {
        return std::nullopt;
    }
    const auto operand = *at + kToNativeStack.size();
    const auto distance = static_cast<std::int8_t>(std::to_integer<std::uint8_t>(code[operand]));
    return NativeSwitch{operand + 1, static_cast<std::uint64_t>(-std::int64_t{distance})};
}

}  // namespace

std::optional<FragmentCall> fragment_call(Code code, std::uint64_t begin, Called called,
                                          const TopFields& fields) {
    constexpr std::size_t kBehindCall = 8;
    const auto leaves = saves_frame_pointer(code) ? std::nullopt : native_switch(code);
    if (!leaves) {
        return std::nullopt;
    }
    FragmentCall found{.x_registers = leaves->from_registers};
    if (called == Called::kRegister) {
        const auto behind = behind_register_call(code, leaves->behind);
        if (!behind) {
            return std::nullopt;
        }
        found.behind = *behind;
    } else {
        const auto call = memory_call(code, leaves->behind);
        if (!call) {
            return std::nullopt;
        }
        found.behind = call->behind;
        found.callee_word =
            begin + call->behind + static_cast<std::uint64_t>(std::int64_t{call->displacement});
    }
    const auto rest = code.subspan(found.behind);
    return stack_from_structure(rest.first(std::min(kBehindCall, rest.size())), fields.stack_top)
               ? std::optional(found)
               : std::nullopt;
}

bool is_register_call(std::span<const std::byte, 2> code) {
    return code[0] == std::byte{0xff} && (code[1] & std::byte{0xf8}) == std::byte{0xd0};
}

std::optional<std::size_t> behind_register_call(Code code, std::size_t from) {
    for (auto at = from; at + 2 <= code.size(); ++at) {
        if (is_register_call(code.subspan(at).first<2>())) {
            return at + 2;
        }
    }
    return std::nullopt;
}

std::optional<MemoryCall> memory_call(Code code, std::size_t from) {
    const auto call = find(code, kIndirectCall, from);
    if (!call || *call + kIndirectCall.size() + kOperandBytes > code.size()) {
        return std::nullopt;
    }
    const auto operand = *call + kIndirectCall.size();
    return MemoryCall{operand + kOperandBytes, relative(code, operand)};
}

std::optional<std::size_t> stack_from_structure(Code code, std::uint32_t stop) {
    const std::array from_structure = {std::byte{0x49}, std::byte{0x8b}, std::byte{0x65},
                                       static_cast<std::byte>(stop)};
    return stop < 0x80 ? find(code, from_structure) : std::nullopt;
}

std::optional<SavedStack> stack_from_register(Code code) {
    static constexpr std::array kFromRbp = {std::byte{0x48}, std::byte{0x89}, std::byte{0xec}};
    static constexpr std::array kFromR12 = {std::byte{0x4c}, std::byte{0x89}, std::byte{0xe4}};
    const auto begin = code.first(std::min(code.size(), kFromRbp.size()));
    if (std::ranges::equal(begin, kFromRbp)) {
        return SavedStack::kRbp;
    }
    return std::ranges::equal(begin, kFromR12) ? std::optional(SavedStack::kR12) : std::nullopt;
}

bool keeps_tops(Code code, std::uint32_t htop) {
    const std::array heap_top = {std::byte{0x4d}, std::byte{0x8b}, std::byte{0x7d},
                                 static_cast<std::byte>(htop)};
    return htop < 0x80 && stack_from_register(code) && !find(code, heap_top);
}

std::optional<std::uint64_t> live_before_call(std::span<const std::byte, kLiveBefore> code) {
    constexpr std::size_t kMovBytes = 5, kXorBytes = 2, kMostPadding = 3;
    const auto at = [&](std::size_t index) { return std::to_integer<unsigned>(code[index]); };
    std::optional<std::uint64_t> live;
    for (const std::size_t call : {5U, 6U}) {
        const auto begin = kLiveBefore - call;
        const bool is_call = call == 5 ? at(begin) == 0xe8
                                       : (at(begin) == 0xff && at(begin + 1) == 0x15) ||
                                             (at(begin) == 0x40 && at(begin + 1) == 0xe8);
        for (std::size_t padding = 0; is_call && padding <= kMostPadding; ++padding) {
            const auto end = begin - padding;
            std::optional<std::uint64_t> told;
            if (end >= kMovBytes && at(end - kMovBytes) == 0xb9) {
                told = static_cast<std::uint32_t>(relative(code, end - kMovBytes + 1));
            } else if (end >= kXorBytes && at(end - kXorBytes) == 0x31 && at(end - 1) == 0xc9) {
                told = 0;
            }
            if (!told || *told > kMostLive) {
                continue;
            }
            // A prefix of the call may be taken for padding.
            if (live && live != told) {
                return std::nullopt;
            }
            live = told;
        }
    }
    return live;
}

std::optional<std::uint32_t> last_frame_bytes(Code code) {
    static constexpr std::array kSub8 = {std::byte{0x48}, std::byte{0x83}, std::byte{0xec}};
    static constexpr std::array kSub32 = {std::byte{0x48}, std::byte{0x81}, std::byte{0xec}};
    const auto at = [&](std::size_t from, const auto& pattern, std::size_t operand) {
        return from + pattern.size() + operand <= code.size() &&
               std::ranges::equal(code.subspan(from, pattern.size()), pattern);
    };
    for (std::size_t from = code.size(); from-- > 0;) {
        if (at(from, kSub8, 1)) {
            return std::to_integer<std::uint32_t>(code[from + kSub8.size()]);
        }
        if (at(from, kSub32, kOperandBytes)) {
            return static_cast<std::uint32_t>(relative(code, from + kSub32.size()));
        }
    }
    return std::nullopt;
}

std::optional<std::size_t> collection_branch(Code code) {
    std::map<std::size_t, std::size_t> jumps;  // to an offset
    std::vector<std::size_t> calls;
    for (std::size_t at = 0; at + kJumpBytes <= code.size(); ++at) {
        const auto next = static_cast<std::ptrdiff_t>(at + kJumpBytes);
        const auto to = next + (jumps_at(code, at) ? relative(code, at + 2) : 0);
        if (to > next && to < static_cast<std::ptrdiff_t>(code.size())) {
            ++jumps[static_cast<std::size_t>(to)];
        }
        if (std::ranges::equal(code.subspan(at, kIndirectCall.size()), kIndirectCall)) {
            calls.push_back(at);
        }
    }
    const auto most =
        std::ranges::max_element(jumps, {}, [](const auto& jump) { return jump.second; });
    if (most == jumps.end() || most->second != kJumps || calls.size() != 1 ||
        calls.front() < most->first || calls.front() + kCallBytes >= code.size()) {
        return std::nullopt;
    }
    return most->first;
}

}  // namespace beamdump::arch::x86_64
