#include <libvm/arch/aarch64/code_constants.h>

#include <cstring>
#include <vector>

namespace beamdump::arch::aarch64 {
namespace {

/// `ldr w14, [x14]`; `cmp x24, SAVE_CALLS`; `csel x24, x24, x14, eq`.
bool keeps_code_index(std::span<const std::uint32_t> words) {
    constexpr std::uint32_t kImmediate = 0xfffU << 10U;
    return words.size() >= 3 && words[0] == 0xb94001ce && (words[1] & ~kImmediate) == 0xf100031f &&
           words[2] == 0x9a8e0318;
}

}  // namespace

std::optional<MovedConstant> moved_constant(const std::optional<MovedConstant>& before,
                                            std::uint32_t instruction) {
    constexpr std::uint32_t kOperation = 0xff800000, kClearing = 0xd2800000, kKeeping = 0xf2800000;
    constexpr std::uint64_t kPart = 0xffff;
    const auto name = instruction & 31U;
    const auto shift = (instruction >> 21U & 3U) * 16;
    const auto part = (instruction >> 5U & kPart) << shift;
    if ((instruction & kOperation) == kClearing) {
        return MovedConstant{name, part};
    }
    if ((instruction & kOperation) == kKeeping && before && before->name == name) {
        return MovedConstant{name, (before->value & ~(kPart << shift)) | part};
    }
    return std::nullopt;
}

void each_code_constant(std::span<const std::byte> code, std::uint64_t least,
                        const VisitConstant& visit) {
    std::vector<std::uint32_t> words(code.size() / sizeof(std::uint32_t));
    std::memcpy(words.data(), code.data(), words.size() * sizeof(std::uint32_t));
    std::optional<MovedConstant> before;
    for (std::size_t at = 0; at < words.size(); ++at) {
        before = moved_constant(before, words[at]);
        if (before && before->value >= least) {
            visit(before->value, keeps_code_index(std::span(words).subspan(at + 1))
                                     ? ConstantUse::kCodeIndex
                                     : ConstantUse::kUnknown);
        }
    }
}

}  // namespace beamdump::arch::aarch64
