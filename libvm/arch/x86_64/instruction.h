#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace beamdump::beam {

/// The number of a general register of x86-64 as instructions encode it.
enum class MachineRegister : std::uint8_t {
    kRcx = 1,
    kRdx = 2,
    kRbx = 3,
    kRsp = 4,
    kRbp = 5,
    kRsi = 6,
    kRdi = 7,
    kR12 = 12,
    kR13 = 13,
    kR15 = 15
};

/// An operand in memory, or a register.
struct MachineOperand {
    bool in_memory = false;
    bool relative = false;                ///< in memory: to the next instruction
    std::optional<std::uint8_t> index{};  ///< in memory: the register that is added as an index
    std::optional<std::uint8_t> base{};   ///< the register; in memory: to which is added
    std::int32_t displacement = 0;

    [[nodiscard]] bool is(MachineRegister wanted) const {
        return !in_memory && base == static_cast<std::uint8_t>(wanted);
    }
    [[nodiscard]] bool at(MachineRegister wanted) const {
        return in_memory && !index && base == static_cast<std::uint8_t>(wanted);
    }
    [[nodiscard]] bool indexed_by(MachineRegister wanted) const {
        return index == static_cast<std::uint8_t>(wanted);
    }
};

/// One instruction of x86-64 (Intel's manual, volume 2, chapter 2 and appendix A).
struct Instruction {
    enum class Map : std::uint8_t { kOneByte, k0F, k0F38, k0F3A };

    std::size_t bytes = 0;
    Map map = Map::kOneByte;
    std::uint8_t opcode = 0;
    bool wide = false;               ///< operands of 64 bits
    bool narrow = false;             ///< prefix 66: operands of 16 bits, or another instruction
    std::uint8_t repeat = 0;         ///< prefix F2 or F3
    bool vex = false;                ///< of AVX
    std::uint8_t vector_bytes = 16;  ///< of an operand of AVX; 0: only some are stored
    std::optional<MachineOperand> operand{};  ///< the one that may be in memory
    std::uint8_t reg = 0;        ///< the other one's register, or more of the operation (`/digit`)
    std::int64_t immediate = 0;  ///< with its sign; of a jump: the distance from its end

    [[nodiscard]] bool is(std::uint8_t wanted) const {
        return map == Map::kOneByte && opcode == wanted;
    }
    [[nodiscard]] bool reg_is(MachineRegister wanted) const {
        return reg == static_cast<std::uint8_t>(wanted);
    }
};

/// The first instruction of `code`. Nothing: it is none that compilers or the JIT emit for user
/// code, or it is cut short.
std::optional<Instruction> first_instruction(std::span<const std::byte> code);

}  // namespace beamdump::beam
