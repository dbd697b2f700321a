#include <libvm/arch/x86_64/instruction.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace beamdump::beam {
namespace {

using Map = Instruction::Map;

/// Bytes that follow an opcode.
struct Form {
    bool known = true;
    bool operand = false;  // ModRM and what belongs to it
    std::uint8_t immediate = 0;
};

constexpr Form kUnknown{.known = false};
constexpr Form kPlain{};
constexpr Form kOperand{.operand = true};

constexpr Form plain(std::uint8_t immediate) {
    return {.immediate = immediate};
}
constexpr Form operand(std::uint8_t immediate) {
    return {.operand = true, .immediate = immediate};
}

bool between(std::uint8_t opcode, std::uint8_t first, std::uint8_t last) {
    return first <= opcode && opcode <= last;
}

bool any_of(std::uint8_t opcode, std::initializer_list<std::uint8_t> wanted) {
    return std::ranges::find(wanted, opcode) != wanted.end();
}

/// Intel's manual, volume 2, appendix A, table A-2. `full`: bytes of an immediate operand of full
/// size.
Form form_of_one_byte(std::uint8_t opcode, std::uint8_t full, bool wide) {
    if (opcode < 0x40) {
        const auto low = opcode & 7U;
        if (low >= 6) {
            return kUnknown;
        }
        return low < 4 ? kOperand : plain(low == 4 ? 1 : full);
    }
    if (between(opcode, 0x50, 0x5f) || between(opcode, 0x90, 0x99) || between(opcode, 0xa4, 0xa7) ||
        between(opcode, 0xaa, 0xaf) || any_of(opcode, {0xc3, 0xc9, 0xcc, 0xf4, 0xf5}) ||
        between(opcode, 0xf8, 0xfd)) {
        return kPlain;
    }
    if (between(opcode, 0x70, 0x7f) || between(opcode, 0xb0, 0xb7) || between(opcode, 0xe0, 0xe3) ||
        any_of(opcode, {0x6a, 0xa8, 0xeb})) {
        return plain(1);
    }
    if (between(opcode, 0xb8, 0xbf)) {
        return plain(wide ? 8 : full);
    }
    if (any_of(opcode, {0x68, 0xa9})) {
        return plain(full);
    }
    if (any_of(opcode, {0xe8, 0xe9})) {
        return plain(4);
    }
    if (opcode == 0xc2) {
        return plain(2);
    }
    if (any_of(opcode, {0x6b, 0x80, 0x83, 0xc0, 0xc1, 0xc6})) {
        return operand(1);
    }
    if (any_of(opcode, {0x69, 0x81, 0xc7})) {
        return operand(full);
    }
    if (between(opcode, 0x84, 0x8f) || between(opcode, 0xd0, 0xd3) || between(opcode, 0xd8, 0xdf) ||
        any_of(opcode, {0x63, 0xf6, 0xf7, 0xfe, 0xff})) {
        return kOperand;  // f6 and f7: see immediate_of_test()
    }
    return kUnknown;
}

/// The same volume, table A-3.
Form form_of_0f(std::uint8_t opcode) {
    if (any_of(opcode, {0x0b, 0x31, 0x77, 0xa2}) || between(opcode, 0xc8, 0xcf)) {
        return kPlain;
    }
    if (between(opcode, 0x80, 0x8f)) {
        return plain(4);
    }
    if (between(opcode, 0x70, 0x73) || any_of(opcode, {0xa4, 0xac, 0xba, 0xc2}) ||
        between(opcode, 0xc4, 0xc6)) {
        return operand(1);
    }
    if (opcode == 0x0d || between(opcode, 0x10, 0x1f) || between(opcode, 0x28, 0x2f) ||
        between(opcode, 0x40, 0x6f) || between(opcode, 0x74, 0x76) || between(opcode, 0x78, 0x7f) ||
        between(opcode, 0x90, 0x9f) ||
        any_of(opcode, {0xa3, 0xa5, 0xab, 0xad, 0xae, 0xaf, 0xc3, 0xc7}) ||
        between(opcode, 0xb0, 0xb8) || between(opcode, 0xbb, 0xc1) || between(opcode, 0xd0, 0xfe)) {
        return kOperand;
    }
    return kUnknown;
}

/// Bytes of an instruction, from its first one on. Behind the end it has zeros, and says so.
class Bytes {
  public:
    explicit Bytes(std::span<const std::byte> code) : code_(code) {}
    [[nodiscard]] std::uint8_t peek() const {
        return at_ < code_.size() ? std::to_integer<std::uint8_t>(code_[at_]) : 0;
    }
    std::uint8_t next() {
        const auto byte = peek();
        ++at_;
        return byte;
    }
    /// A little-endian number with its sign.
    std::int64_t number(std::size_t bytes) {
        std::uint64_t value = 0;
        for (std::size_t index = 0; index < bytes; ++index) {
            value |= std::uint64_t{next()} << (8 * index);
        }
        const auto unused = 64 - 8 * static_cast<unsigned>(bytes);
        return bytes == 0 ? 0 : static_cast<std::int64_t>(value << unused) >> unused;
    }
    [[nodiscard]] bool whole() const { return at_ <= code_.size(); }
    [[nodiscard]] std::size_t taken() const { return at_; }

  private:
    std::span<const std::byte> code_;
    std::size_t at_ = 0;
};

/// The upper bits of register numbers, and the size of operands.
struct Extension {
    bool wide = false;
    std::uint8_t reg = 0, index = 0, base = 0;  // 0 or 8
    /// What a displacement of one byte counts (the volume's section 2.7.5).
    std::uint8_t unit = 1;
};

Extension extension(bool wide, bool reg, bool index, bool base) {
    const auto bit = [](bool set) { return static_cast<std::uint8_t>(set ? 8 : 0); };
    return {wide, bit(reg), bit(index), bit(base)};
}

MachineOperand operand_of(std::uint8_t modrm, const Extension& high, Bytes& bytes) {
    const auto mode = static_cast<std::uint8_t>(modrm >> 6U);
    const auto low = static_cast<std::uint8_t>(modrm & 7U);
    MachineOperand found{.base = static_cast<std::uint8_t>(low | high.base)};
    if (mode == 3) {
        return found;
    }
    found.in_memory = true;
    std::size_t displacement = mode == 1 ? 1 : mode == 2 ? 4 : 0;
    if (low == 4) {
        const auto sib = bytes.next();
        const auto index = static_cast<std::uint8_t>(((sib >> 3U) & 7U) | high.index);
        found.index = index != 4 ? std::optional(index) : std::nullopt;
        found.base = static_cast<std::uint8_t>((sib & 7U) | high.base);
        if ((sib & 7U) == 5 && mode == 0) {
            found.base.reset();
            displacement = 4;
        }
    } else if (low == 5 && mode == 0) {
        found.base.reset();
        found.relative = true;
        displacement = 4;
    }
    found.displacement = static_cast<std::int32_t>(bytes.number(displacement));
    if (displacement == 1) {
        found.displacement *= high.unit;
    }
    return found;
}

}  // namespace

namespace {

/// The prefixes of AVX and AVX-512, which begin like instructions that 64-bit code cannot have;
/// bits of register numbers are inverted (sections 2.3.5 and 2.7.1). False: no known map of
/// opcodes.
bool take_vector_prefix(Bytes& bytes, Instruction& found, Extension& high) {
    const bool is_short = found.opcode == 0xc5;
    const bool is_longest = found.opcode == 0x62;
    const auto first = bytes.next();
    const auto second = is_short ? first : bytes.next();
    const auto third = is_longest ? bytes.next() : 0U;
    const auto map = is_short ? 1U : first & (is_longest ? 7U : 0x1fU);
    high = extension(!is_short && (second & 0x80U) != 0, (first & 0x80U) == 0,
                     !is_short && (first & 0x40U) == 0, !is_short && (first & 0x20U) == 0);
    const auto length = is_longest ? (third >> 5U) & 3U : (second >> 2U) & 1U;
    found.vector_bytes = static_cast<std::uint8_t>(16U << length);
    if (is_longest) {
        high.unit = found.vector_bytes;
        if ((third & 0x17U) != 0) {  // a mask, or one element for all
            found.vector_bytes = 0;
        }
    }
    found.vex = true;
    found.map = map == 1 ? Map::k0F : map == 2 ? Map::k0F38 : Map::k0F3A;
    const auto prefix = second & 3U;
    found.narrow = prefix == 1;
    found.repeat = prefix == 2 ? 0xf3 : prefix == 3 ? 0xf2 : 0;
    return map >= 1 && map <= 3 && length < 3;
}

}  // namespace

std::optional<Instruction> first_instruction(std::span<const std::byte> code) {
    Bytes bytes(code);
    Instruction found;
    Extension high;
    while (
        any_of(bytes.peek(), {0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3}) &&
        bytes.taken() < 15) {
        const auto prefix = bytes.next();
        found.narrow = found.narrow || prefix == 0x66;
        found.repeat = prefix == 0xf2 || prefix == 0xf3 ? prefix : found.repeat;
    }
    if (between(bytes.peek(), 0x40, 0x4f)) {
        const auto rex = bytes.next();
        high = extension((rex & 8U) != 0, (rex & 4U) != 0, (rex & 2U) != 0, (rex & 1U) != 0);
    }
    found.opcode = bytes.next();
    if (any_of(found.opcode, {0xc4, 0xc5, 0x62})) {
        if (!take_vector_prefix(bytes, found, high)) {
            return std::nullopt;
        }
        found.opcode = bytes.next();
    } else if (found.opcode == 0x0f) {
        found.map = Map::k0F;
        found.opcode = bytes.next();
        if (found.opcode == 0x38 || found.opcode == 0x3a) {
            found.map = found.opcode == 0x38 ? Map::k0F38 : Map::k0F3A;
            found.opcode = bytes.next();
        }
    }
    found.wide = high.wide;
    const std::uint8_t full = found.narrow && !found.wide ? 2 : 4;
    auto form = found.map == Map::kOneByte ? form_of_one_byte(found.opcode, full, found.wide)
                : found.map == Map::k0F    ? form_of_0f(found.opcode)
                                           : operand(found.map == Map::k0F3A ? 1 : 0);
    if (!form.known) {
        return std::nullopt;
    }
    if (form.operand) {
        const auto modrm = bytes.next();
        found.reg = static_cast<std::uint8_t>(((modrm >> 3U) & 7U) | high.reg);
        found.operand = operand_of(modrm, high, bytes);
        // `test` alone has an immediate operand.
        if ((found.is(0xf6) || found.is(0xf7)) && (found.reg & 7U) < 2) {
            form.immediate = found.is(0xf6) ? 1 : full;
        }
    } else if (found.map == Map::kOneByte) {
        found.reg = static_cast<std::uint8_t>((found.opcode & 7U) | high.base);
    }
    found.immediate = bytes.number(form.immediate);
    found.bytes = bytes.taken();
    return bytes.whole() ? std::optional(found) : std::nullopt;
}

}  // namespace beamdump::beam
