#include <libvm/arch/x86_64/x_registers.h>
#include <libvm/beam/layout/term_bits.h>

#include <algorithm>
#include <utility>

namespace beamdump::beam {
namespace {

using Map = Instruction::Map;
using enum MachineRegister;

constexpr std::size_t kRegisterBytes = 8;
/// Beyond them nothing is told apart.
constexpr std::size_t kMostTold = 256;

/// Whether an instruction with an operand in memory only reads it.
bool reads_memory(const Instruction& one) {
    const auto digit = one.reg & 7U;
    if (one.map == Map::k0F) {
        // movups and the like, cvt, cmov, and, or, xor, add, mul, sub, min, div, max, comis, movd,
        // movdqa, bt, imul, movzx, movsx
        return one.opcode == 0x10 || one.opcode == 0x12 || one.opcode == 0x16 ||
               one.opcode == 0x28 ||
               (one.opcode >= 0x2a && one.opcode <= 0x2f && one.opcode != 0x2b) ||
               (one.opcode >= 0x40 && one.opcode <= 0x4f) ||
               (one.opcode >= 0x51 && one.opcode <= 0x6f) || one.opcode == 0xa3 ||
               one.opcode == 0xaf || one.opcode == 0xb6 || one.opcode == 0xb7 ||
               one.opcode == 0xbe || one.opcode == 0xbf || one.opcode == 0x1f ||
               (one.opcode == 0x7e && one.repeat == 0xf3);
    }
    if (one.map != Map::kOneByte) {
        return false;
    }
    return (one.opcode < 0x40 && (one.opcode & 2U) != 0) || one.is(0x38) || one.is(0x39) ||
           one.is(0x84) || one.is(0x85) || one.is(0x8a) || one.is(0x8b) || one.is(0x63) ||
           one.is(0x69) || one.is(0x6b) ||
           ((one.is(0x80) || one.is(0x81) || one.is(0x83)) && digit == 7) ||
           ((one.is(0xf6) || one.is(0xf7)) && digit != 2 && digit != 3) ||
           (one.is(0xff) && digit >= 2);
}

bool only_compares(const Instruction& one) {
    return one.map == Map::kOneByte &&
           ((one.opcode >= 0x38 && one.opcode <= 0x3b) || one.is(0x84) || one.is(0x85));
}

/// What `mov ecx, N` and `xor ecx, ecx` put there.
std::optional<std::uint32_t> constant_in_ecx(const Instruction& one) {
    if (one.opcode == 0xb8 + static_cast<unsigned>(kRcx) && one.reg_is(kRcx) &&
        one.map == Map::kOneByte) {
        return static_cast<std::uint32_t>(one.immediate);
    }
    const bool clears =
        (one.is(0x31) || one.is(0x33)) && one.operand && one.operand->is(kRcx) && one.reg_is(kRcx);
    return clears ? std::optional<std::uint32_t>(0) : std::nullopt;
}

bool is_padding(const Instruction& one) {
    return one.is(0x90) || (one.map == Map::k0F && one.opcode == 0x1f);
}

bool is_constant(const Instruction& one) {
    return one.map == Map::kOneByte && one.opcode >= 0xb8 && one.opcode <= 0xbf;
}

/// The register that an instruction puts a value into, if it is one of those that prepare calls:
/// `mov`, `lea`, `xor` of registers and constants.
std::optional<std::uint8_t> prepared_register(const Instruction& one) {
    if (is_constant(one)) {
        return one.reg;
    }
    if (!one.operand) {
        return std::nullopt;
    }
    if (one.is(0x8b) || one.is(0x8d) || one.is(0x33)) {
        return one.reg;
    }
    const bool to_operand = (one.is(0x89) || one.is(0x31)) && !one.operand->in_memory;
    return to_operand ? one.operand->base : std::nullopt;
}

/// Whether it is `mov to, from`.
bool moves(const Instruction& one, MachineRegister to, MachineRegister from) {
    return one.wide && one.operand &&
           ((one.is(0x89) && one.operand->is(to) && one.reg_is(from)) ||
            (one.is(0x8b) && one.operand->is(from) && one.reg_is(to)));
}

}  // namespace

void NativeArguments::apply(const Instruction& one) {
    const bool stores = one.is(0x89) && one.operand && one.operand->in_memory;
    if (is_padding(one) || stores) {
        return;
    }
    const auto to = one.narrow ? std::nullopt : prepared_register(one);
    if (!to) {
        *this = {};
    } else if (*to == static_cast<std::uint8_t>(kRdi)) {
        process_ = moves(one, kRdi, kR13);
    } else if (*to == static_cast<std::uint8_t>(kRsi)) {
        registers_ = moves(one, kRsi, kRbx);
    } else if (*to == static_cast<std::uint8_t>(kRdx)) {
        live_ = is_constant(one) && one.immediate > 0 && std::cmp_less(one.immediate, kMostTold)
                    ? std::optional(static_cast<std::uint32_t>(one.immediate))
                    : std::nullopt;
    }
}

bool NativeArguments::meet(const NativeArguments& other) {
    const bool changed = (process_ && !other.process_) || (registers_ && !other.registers_) ||
                         (live_ && live_ != other.live_);
    process_ = process_ && other.process_;
    registers_ = registers_ && other.registers_;
    live_ = live_ == other.live_ ? live_ : std::nullopt;
    return changed;
}

XRegisters XRegisters::arguments(std::uint64_t count) {
    XRegisters registers;
    registers.words_.assign(std::min<std::uint64_t>(count, kMostTold), Word::kTerm);
    registers.others_ = count <= kMostTold ? Word::kDead : Word::kUnknown;
    return registers;
}

std::uint32_t XRegisters::known() const {
    const auto end = std::ranges::find_if(words_, [](Word one) { return one != Word::kTerm; });
    return static_cast<std::uint32_t>(end - words_.begin());
}

bool XRegisters::complete() const {
    return others_ == Word::kDead && !address_taken_ &&
           std::ranges::find(words_, Word::kUnknown) == words_.end() &&
           std::ranges::count(words_, Word::kTerm) == known();
}

void XRegisters::set(std::size_t index, Word word) {
    if (index >= kMostTold) {
        others_ = Word::kUnknown;
        return;
    }
    if (index >= words_.size()) {
        words_.resize(index + 1, others_);
    }
    words_[index] = word;
}

bool XRegisters::meet(const XRegisters& other) {
    bool changed = false;
    const auto count = std::max(words_.size(), other.words_.size());
    for (std::size_t index = 0; index < count; ++index) {
        if (other.at(index) > at(index)) {
            set(index, other.at(index));
            changed = true;
        }
    }
    if (other.others_ > others_) {
        others_ = other.others_;
        changed = true;
    }
    if (other.address_taken_ && !address_taken_) {
        address_taken_ = true;
        changed = true;
    }
    if (ecx_ && ecx_ != other.ecx_) {
        ecx_.reset();
        changed = true;
    }
    if (kept_ && !other.kept_) {
        kept_ = false;
        changed = true;
    }
    return native_.meet(other.native_) || changed;
}

/// An instruction that writes to memory from `rbx` on.
void XRegisters::store(const Instruction& one, std::size_t words_stored) {
    const auto& operand = *one.operand;
    if (operand.index) {
        forget();
        return;
    }
    // Words before `rbx` are not x registers (ErtsSchedulerRegisters, erl_process.h).
    const auto begin = std::int64_t{operand.displacement};
    const auto bytes = static_cast<std::int64_t>(
        words_stored != 0 ? words_stored * kRegisterBytes
                          : std::max<std::size_t>(one.vector_bytes, 2 * kRegisterBytes));
    const bool whole = words_stored != 0 && begin % static_cast<std::int64_t>(kRegisterBytes) == 0;
    const bool constant = one.is(0xc7);
    // 0 is no term, but marks one that is not there.
    const bool is_term =
        !constant || (static_cast<std::uint64_t>(one.immediate) & kPrimaryMask) != kPrimaryHeader;
    for (auto at = begin; at < begin + bytes; ++at) {
        if (at < 0) {
            continue;
        }
        const auto word = !whole ? Word::kUnknown : is_term ? Word::kTerm : Word::kDead;
        set(static_cast<std::size_t>(at) / kRegisterBytes, word);
    }
}

bool XRegisters::apply(const Instruction& one, bool writes_base, std::size_t words_stored) {
    ecx_ = is_padding(one) ? ecx_ : constant_in_ecx(one);
    native_.apply(one);
    if (writes_base) {
        return false;
    }
    if (!one.operand) {
        return true;
    }
    const auto rbx = static_cast<std::uint8_t>(kRbx);
    if (one.operand->in_memory && one.operand->base == rbx) {
        if (one.is(0x8d)) {
            // What lies before them is the scheduler's (erl_process.h, ErtsSchedulerRegisters).
            const bool before = one.operand->displacement < 0 && !one.operand->index;
            address_taken_ = address_taken_ || (!before && !one.reg_is(kRsp));
        } else if (!reads_memory(one)) {
            store(one, words_stored);
        }
        return true;
    }
    const bool has_base = (one.operand->is(kRbx) || one.reg == rbx) && one.map == Map::kOneByte;
    address_taken_ = address_taken_ || (has_base && !only_compares(one));
    if (address_taken_ && one.operand->in_memory && !one.operand->at(kRsp) && !reads_memory(one)) {
        forget();
        address_taken_ = true;
    }
    return true;
}

void XRegisters::call(CallEffect effect) {
    const auto live = std::exchange(ecx_, std::nullopt);
    native_ = {};
    if (effect == CallEffect::kResult) {
        *this = arguments(1);
    } else if (effect == CallEffect::kCollects && live) {
        *this = arguments(*live);
    } else if (effect != CallEffect::kKeepsAll || address_taken_) {
        forget();
    }
}

void XRegisters::native_call() {
    ecx_.reset();
    const auto live = std::exchange(native_, {}).live();
    if (live) {
        *this = arguments(*live);
        kept_ = true;
    } else if (address_taken_) {
        forget();
    }
}

void XRegisters::leave_native() {
    if (!std::exchange(kept_, false)) {
        forget();
    }
}

}  // namespace beamdump::beam
