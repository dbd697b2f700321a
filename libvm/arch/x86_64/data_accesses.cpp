#include <libvm/arch/x86_64/data_accesses.h>
#include <libvm/arch/x86_64/instruction.h>

#include <optional>

namespace beamdump::arch::x86_64 {
namespace {

// Intel's manual, volume 2, appendix A.
constexpr std::uint8_t kLoadAddress = 0x8d;
constexpr std::uint8_t kLoad = 0x8b;
constexpr std::uint8_t kStore = 0x89;
constexpr std::uint8_t kStoreConstant = 0xc7;
constexpr std::uint8_t kOperateOnByte = 0x83;
constexpr std::uint8_t kCompare = 7;  ///< of kOperateOnByte
constexpr std::uint8_t kCall = 0xe8;

/// What an instruction does with its operand in memory.
std::optional<DataAccess::Kind> kind_of(const beam::Instruction& instruction) {
    using enum DataAccess::Kind;
    if (instruction.is(kLoadAddress)) {
        return instruction.reg_is(beam::MachineRegister::kRdi) ? std::optional(kFirstArgument)
                                                               : std::nullopt;
    }
    if (instruction.is(kStoreConstant)) {
        return !instruction.wide && !instruction.narrow && instruction.immediate == 0
                   ? std::optional(kClearInt)
                   : std::nullopt;
    }
    if (!instruction.wide) {
        return std::nullopt;
    }
    if (instruction.is(kLoad)) {
        return kLoadWord;
    }
    if (instruction.is(kStore)) {
        return kStoreWord;
    }
    return instruction.is(kOperateOnByte) && instruction.reg == kCompare &&
                   instruction.immediate == 0
               ? std::optional(kCompareWithNull)
               : std::nullopt;
}

}  // namespace

std::vector<DataAccess> data_accesses(std::span<const std::byte> code, std::uint64_t begin) {
    std::vector<DataAccess> found;
    for (std::size_t at = 0; at < code.size();) {
        const auto instruction = beam::first_instruction(code.subspan(at));
        if (!instruction || instruction->bytes == 0) {
            break;
        }
        const auto next = begin + at + instruction->bytes;
        if (instruction->is(kCall)) {
            found.push_back({DataAccess::Kind::kCall, at,
                             next + static_cast<std::uint64_t>(instruction->immediate)});
        } else if (instruction->operand && instruction->operand->relative) {
            if (const auto kind = kind_of(*instruction)) {
                found.push_back({*kind, at,
                                 next + static_cast<std::uint64_t>(
                                            std::int64_t{instruction->operand->displacement})});
            }
        }
        at += instruction->bytes;
    }
    return found;
}

}  // namespace beamdump::arch::x86_64
