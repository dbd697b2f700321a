#include <libvm/arch/x86_64/frame_code.h>
#include <libvm/arch/x86_64/instruction.h>

#include <algorithm>
#include <array>
#include <utility>

namespace beamdump::beam {
namespace {

using Map = Instruction::Map;
using enum MachineRegister;

constexpr std::int64_t kFrameWord = 8;
constexpr std::size_t kMostFrameWords = 2048;
constexpr std::uint32_t kMostPushed = 16;
/// What keeps the Erlang stack's top while code is on the thread's own: in OTP 25 to 29, in 24.
constexpr std::array kSavedStacks = {kRbp, kR12};
/// Visits of instructions, for each byte of code.
constexpr std::size_t kVisitsPerByte = 2;
constexpr std::size_t kVisitsPerByteWithRegisters = 8;
/// Where a function that has yielded at its beginning goes on is loaded so far behind its entry; it
/// then has its arguments again (instr_common.cpp, emit_i_test_yield(), OTP 25 to 29).
constexpr std::size_t kYieldPlace = 8;

/// One that only compares, or tests.
bool leaves_registers(const Instruction& one) {
    return one.map == Map::kOneByte &&
           ((one.opcode >= 0x38 && one.opcode <= 0x3d) || one.is(0x84) || one.is(0x85) ||
            ((one.is(0x80) || one.is(0x81) || one.is(0x83)) && (one.reg & 7U) == 7) ||
            ((one.is(0xf6) || one.is(0xf7)) && (one.reg & 7U) < 2));
}

/// One whose operands are of 8 bits: a register number may mean another register's second byte.
bool is_of_bytes(const Instruction& one) {
    if (one.map == Map::k0F) {
        return one.opcode >= 0x90 && one.opcode <= 0x9f;
    }
    return one.map == Map::kOneByte &&
           ((one.opcode < 0x40 && (one.opcode & 1U) == 0) || one.is(0x80) || one.is(0x86) ||
            one.is(0x88) || one.is(0x8a) || (one.opcode >= 0xb0 && one.opcode <= 0xb7) ||
            one.is(0xc0) || one.is(0xc6) || one.is(0xd0) || one.is(0xd2) || one.is(0xf6) ||
            one.is(0xfe));
}

/// Whether an instruction of general registers writes to `wanted`, as far as it names it.
bool writes(const Instruction& one, MachineRegister wanted) {
    const auto number = static_cast<std::uint8_t>(wanted);
    if (one.vex || leaves_registers(one) || is_of_bytes(one)) {
        return false;
    }
    const bool operand = one.operand && one.operand->is(wanted);
    const bool reg = one.operand && one.reg == number;
    if (one.map == Map::k0F) {
        // cmov, movzx, movsx, bsf, bsr, popcnt, imul; setcc; movd and movq to a general register
        const bool to_reg = (one.opcode >= 0x40 && one.opcode <= 0x4f) || one.opcode == 0xaf ||
                            (one.opcode >= 0xb6 && one.opcode <= 0xbf && one.opcode != 0xba) ||
                            one.opcode == 0x2c || one.opcode == 0x2d;
        const bool to_operand =
            one.opcode == 0x7e || one.opcode == 0xba || one.opcode == 0xc1 || one.opcode == 0xb1;
        return (to_reg && reg) || (to_operand && operand);
    }
    if (one.map != Map::kOneByte) {
        return reg;
    }
    if (!one.operand) {
        // mov reg, imm; pop; xchg
        const bool in_opcode = (one.opcode >= 0xb8 && one.opcode <= 0xbf) ||
                               (one.opcode >= 0x58 && one.opcode <= 0x5f) ||
                               (one.opcode >= 0x91 && one.opcode <= 0x97);
        return in_opcode && one.reg == number;
    }
    const bool to_reg = (one.opcode < 0x40 && (one.opcode & 2U) != 0) || one.is(0x8b) ||
                        one.is(0x8d) || one.is(0x63) || one.is(0x69) || one.is(0x6b);
    if (to_reg) {
        return reg;
    }
    if (one.is(0x87)) {
        return reg || operand;
    }
    const bool other_operation = one.is(0xff) && (one.reg & 7U) >= 2;  // call, jmp, push
    return operand && !other_operation;
}

/// How many words an instruction writes from its operand in memory on; 0: none that is certain.
std::size_t words_stored(const Instruction& one) {
    if (one.map == Map::kOneByte) {
        return one.wide && (one.is(0x89) || (one.is(0xc7) && (one.reg & 7U) == 0)) ? 1 : 0;
    }
    if (one.map != Map::k0F) {
        return 0;
    }
    const std::size_t vector = one.vector_bytes / kFrameWord;
    switch (one.opcode) {
        case 0x11:  // movups, movupd; movss and movsd store less
            return one.repeat == 0 ? vector : one.repeat == 0xf2 ? 1 : 0;
        case 0x29:  // movaps, movapd
        case 0xe7:  // movntdq
            return vector;
        case 0x7f:  // movdqa, movdqu; else of the x87 registers
            return one.narrow || one.repeat == 0xf3 ? vector : 0;
        case 0x13:  // movlps
        case 0x17:  // movhps
            return 1;
        case 0xd6:  // movq
            return one.narrow ? 1 : 0;
        case 0x7e:
            return one.narrow && one.wide ? 1 : 0;
        default:
            return 0;
    }
}

}  // namespace

class FrameCode::Reader {
  public:
    Reader(std::span<const std::byte> code, const FrameEntry& entry, FrameCode& into)
        : code_(code), entry_(&entry), into_(&into) {}

    bool all() {
        arrive(0, {}, false);
        const auto most =
            code_.size() * (entry_->arity ? kVisitsPerByteWithRegisters : kVisitsPerByte);
        for (std::size_t visits = 0; !next_.empty() || !after_calls_.empty(); ++visits) {
            // What follows a call that never returns has another frame, and is known from the
            // jumps to it: these are followed first.
            auto& from = next_.empty() ? after_calls_ : next_;
            auto [at, state] = std::move(*from.begin());
            const bool after_call = next_.empty();
            from.erase(from.begin());
            if (visits > most || (meet(at, state, after_call) && !follow(at))) {
                return false;
            }
        }
        return true;
    }

  private:
    using Arrivals = std::multimap<std::size_t, State>;

    void arrive(std::size_t at, State state, bool after_call) {
        if (at == 0 && entry_->arity) {
            // A call of the function itself: its arguments are there, however they came there.
            state.x = XRegisters::arguments(*entry_->arity);
        }
        if (at < code_.size()) {
            (after_call ? after_calls_ : next_).emplace(at, std::move(state));
        }
    }

    /// Joins what is known at a place with a state in which it is reached. Whether that changes it.
    bool meet(std::size_t at, State& state, bool after_call) {
        const auto [known, is_new] = into_->states_.try_emplace(at, state);
        if (is_new) {
            return true;
        }
        auto& before = known->second;
        if (before.native != state.native || before.pushed != state.pushed ||
            before.written.size() != state.written.size()) {
            if (!after_call) {
                into_->contradictory_.insert(at);
            }
            // Another way to enter it, with another frame: what it leaves in the registers counts.
            return state.x.known() == 0 && before.x.meet(state.x);
        }
        bool changed = before.x.meet(state.x);
        for (std::size_t word = 0; word < state.written.size(); ++word) {
            if (before.written[word] && !state.written[word]) {
                before.written[word] = false;
                changed = true;
            }
        }
        return changed;
    }

    /// The instruction at a place, and where it leads. False: it is not known.
    bool follow(std::size_t at) {
        auto state = into_->states_.at(at);
        const auto one = first_instruction(code_.subspan(at));
        if (!one) {
            return false;
        }
        const auto next = at + one->bytes;
        const auto target = [&](std::int64_t distance) {
            return static_cast<std::size_t>(static_cast<std::int64_t>(next) + distance);
        };
        if (one->map == Map::kOneByte && one->operand && one->is(0xff)) {
            const auto operation = one->reg & 7U;
            if (operation == 2) {
                FrameCall call;
                if (one->operand->relative) {
                    call = {into_->address_ + target(one->operand->displacement), true};
                }
                into_->calls_.emplace(next, call);
                return_to(next, state, call);
                return true;
            }
            if (operation == 4) {
                // Where a table of places in the function leads is not followed. With the active
                // code index (r12, in OTP 24 rbp) it is another function, by its export
                // (jit/x86/beam_asm.hpp, OTP 24 to 29).
                const bool table = one->operand->index && !one->operand->indexed_by(kR12) &&
                                   !one->operand->indexed_by(kRbp);
                if (table || !one->operand->in_memory) {
                    into_->x_known_ = false;
                }
                // With a frame it may go through a table within the function: to where is not
                // known.
                return state.written.empty() || one->operand->relative;
            }
        }
        if (one->map == Map::kOneByte) {
            if (one->is(0xe8)) {
                const FrameCall call{into_->address_ + target(one->immediate), false};
                into_->calls_.emplace(next, call);
                return_to(next, state, call);
                return true;
            }
            if (one->is(0xe9) || one->is(0xeb)) {
                arrive(target(one->immediate), state, false);
                return true;
            }
            if (one->is(0xc3) || one->is(0xc2) || one->is(0xf4) || one->is(0xcc)) {
                return true;
            }
            if ((one->opcode >= 0x70 && one->opcode <= 0x7f) ||
                (one->opcode >= 0xe0 && one->opcode <= 0xe3)) {
                arrive(target(one->immediate), state, false);
            }
        }
        if (one->map == Map::k0F && one->opcode == 0x0b) {
            return true;
        }
        if (one->map == Map::k0F && one->opcode >= 0x80 && one->opcode <= 0x8f) {
            arrive(target(one->immediate), state, false);
        }
        if (!apply(at, *one, state)) {
            return false;
        }
        if (one->is(0x8d) && one->operand && one->operand->relative) {
            // Where it goes on is told to what it calls or jumps to.
            auto later = state;
            if (at != kYieldPlace) {
                later.x = XRegisters();
            }
            arrive(target(one->operand->displacement), later, true);
        }
        arrive(next, state, false);
        return true;
    }

    void return_to(std::size_t at, State state, const FrameCall& call) {
        if (state.native) {
            state.x.native_call();
        } else {
            // What registers lead to is a function, by an export or a fun.
            const auto effect = !call.target     ? CallEffect::kResult
                                : entry_->effect ? entry_->effect(call)
                                                 : CallEffect::kUnknown;
            if (effect == CallEffect::kNoReturn) {
                return;
            }
            state.x.call(effect);
        }
        arrive(at, state, true);
    }

    /// Whether an exception may go on within the function from here on (instr_common.cpp,
    /// emit_catch()): the count of the process's catches changes, or the word of one is made.
    static bool catches(const Instruction& one) {
        constexpr std::uint64_t kCatchMask = 0x3f, kCatchTag = 0x1b;
        const bool count = one.is(0xff) && (one.reg & 7U) < 2 && one.operand->at(kR13);
        const bool word = one.map == Map::kOneByte && one.opcode >= 0xb8 && one.opcode <= 0xbf &&
                          (static_cast<std::uint64_t>(one.immediate) & kCatchMask) == kCatchTag;
        return count || word;
    }

    /// What an instruction does to the frame and to the x registers. False: its effect is not
    /// known.
    bool apply(std::size_t at, const Instruction& one, State& state) {
        const bool was_native = state.native;
        if (!was_native && one.is(0x8b) && one.reg_is(kR15) && one.operand->at(kR13)) {
            into_->before_heap_top_.insert(at);
        }
        if (catches(one) || !state.x.apply(one, writes(one, kRbx), words_stored(one))) {
            into_->x_known_ = false;
        }
        const bool known = apply_to_frame(at, one, state);
        if (was_native && !state.native && one.operand && one.operand->at(kR13)) {
            // It had the tops of stack and heap, with which it may have collected.
            state.x.leave_native();
        }
        return known;
    }

    bool apply_to_frame(std::size_t at, const Instruction& one, State& state) {
        if (one.map == Map::kOneByte && moves_stack(one, state)) {
            return state.written.size() <= kMostFrameWords;
        }
        if (state.native) {
            return true;
        }
        if (writes(one, kRsp) || one.is(0xc9) || one.is(0xc8)) {
            return false;
        }
        if (const auto words = words_stored(one);
            words != 0 && one.operand && one.operand->at(kRsp)) {
            mark(state, one.operand->displacement, words);
        }
        if (one.is(0xab) && one.wide) {
            stosq(at, one, state);
        }
        return true;
    }

    /// Whether it moves the stack's top, or changes to another stack, and does nothing else.
    static bool moves_stack(const Instruction& one, State& state) {
        const bool alu = one.wide && (one.is(0x81) || one.is(0x83)) && one.operand->is(kRsp);
        const bool lea = one.wide && one.is(0x8d) && one.reg_is(kRsp);
        const bool load = one.wide && one.is(0x8b) && one.reg_is(kRsp);
        const bool store = one.wide && one.is(0x89) && one.operand->is(kRsp);
        if (state.native) {
            const bool from_register = std::ranges::any_of(kSavedStacks, [&](auto saved) {
                return (load && one.operand->is(saved)) || (store && one.reg_is(saved));
            });
            if (from_register || (load && one.operand->at(kR13))) {
                state.native = false;
                return true;
            }
            return false;
        }
        if ((lea || load) && one.operand->at(kRbx)) {
            state.native = true;
            return true;
        }
        if (alu && (one.reg & 7U) == 5) {
            return grow(state, one.immediate);
        }
        if (alu && (one.reg & 7U) == 0) {
            return grow(state, -one.immediate);
        }
        if (lea && one.operand->at(kRsp)) {
            return grow(state, -one.operand->displacement);
        }
        const bool push = (one.opcode >= 0x50 && one.opcode <= 0x57) || one.is(0x68) ||
                          one.is(0x6a) || (one.is(0xff) && (one.reg & 7U) == 6);
        if (push) {
            ++state.pushed;
            return state.pushed <= kMostPushed;
        }
        const bool pop = (one.opcode >= 0x58 && one.opcode <= 0x5f) || one.is(0x8f);
        if (pop && state.pushed > 0) {
            --state.pushed;
            return true;
        }
        return false;
    }

    static bool grow(State& state, std::int64_t bytes) {
        const auto words = static_cast<std::int64_t>(state.written.size()) + bytes / kFrameWord;
        if (state.pushed != 0 || bytes % kFrameWord != 0 || words < 0 ||
            std::cmp_greater(words, kMostFrameWords)) {
            return false;
        }
        state.written.resize(static_cast<std::size_t>(words), false);
        return true;
    }

    static void mark(State& state, std::int64_t displacement, std::size_t words) {
        const auto size = static_cast<std::int64_t>(state.written.size());
        displacement -= kFrameWord * std::int64_t{state.pushed};
        for (std::size_t word = 0; word < words && displacement % kFrameWord == 0; ++word) {
            const auto place =
                size - 1 - displacement / kFrameWord - static_cast<std::int64_t>(word);
            if (place >= 0 && place < size) {
                state.written[static_cast<std::size_t>(place)] = true;
            }
        }
    }

    /// `rdi` is set by one of the instructions before (instr_common.cpp, emit_init_yregs(), OTP 25
    /// to 29): those of the same kind in a row.
    void stosq(std::size_t at, const Instruction& one, State& state) const {
        const auto run = run_before(at);
        std::optional<std::int64_t> place;
        std::int64_t count = 0;
        for (const auto& before : run) {
            const bool stored = before.is(0x89) && before.operand->is(kRdi) && before.reg_is(kRsp);
            const bool loaded = before.is(0x8b) && before.reg_is(kRdi) && before.operand->is(kRsp);
            if (stored || loaded) {
                place = 0;
            } else if (before.is(0x8d) && before.reg_is(kRdi) && before.operand->at(kRsp)) {
                place = before.operand->displacement;
            } else if (before.is(0x83) && before.operand->is(kRdi) && place) {
                *place += before.immediate;
            } else if (before.is(0xab) && place) {
                *place += kFrameWord * (before.repeat != 0 ? count : 1);
                count = before.repeat != 0 ? 0 : count;
            } else if (before.opcode == 0xb9) {
                count = before.immediate;
            }
        }
        if (place && count >= 0 && std::cmp_less(count, kMostFrameWords)) {
            mark(state, *place, one.repeat != 0 ? static_cast<std::size_t>(count) : 1);
        }
    }

    /// The longest run of instructions that initialise registers and that end where the one at `at`
    /// begins, each of which was reached.
    [[nodiscard]] std::vector<Instruction> run_before(std::size_t at) const {
        std::vector<Instruction> run;
        auto known = into_->states_.find(at);
        while (known != into_->states_.begin()) {
            const auto end = known->first;
            --known;
            const auto one = first_instruction(code_.subspan(known->first));
            if (!one || known->first + one->bytes != end || one->map != Map::kOneByte ||
                !initialises(*one)) {
                break;
            }
            run.insert(run.begin(), *one);
        }
        return run;
    }

    static bool initialises(const Instruction& one) {
        const bool store = one.operand && one.operand->at(kRsp) && (one.is(0x89) || one.is(0xc7));
        const bool to_rdi = one.wide && one.operand &&
                            ((one.is(0x89) && one.operand->is(kRdi)) ||
                             ((one.is(0x8b) || one.is(0x8d)) && one.reg_is(kRdi)) ||
                             (one.is(0x83) && one.operand->is(kRdi) && (one.reg & 7U) == 0));
        const bool constant = one.opcode == 0xb8 || one.opcode == 0xb9;
        return store || to_rdi || constant || (one.is(0xab) && one.wide);
    }

    std::span<const std::byte> code_;
    const FrameEntry* entry_;
    FrameCode* into_;
    Arrivals next_, after_calls_;
};

std::optional<FrameCode> FrameCode::read(std::span<const std::byte> code, std::uint64_t address,
                                         const FrameEntry& entry) {
    // Registers take more visits: without them the frame may be told all the same.
    const FrameEntry without;
    for (const auto* one : {&entry, &without}) {
        FrameCode found;
        found.address_ = address;
        if (Reader(code, *one, found).all()) {
            return found;
        }
        if (!entry.arity) {
            break;
        }
    }
    return std::nullopt;
}

std::optional<FrameCall> first_jump(std::span<const std::byte> code, std::uint64_t address) {
    const auto jump = first_instruction(code);
    const auto next = jump ? address + jump->bytes : 0;
    if (jump && jump->is(0xe9)) {
        return FrameCall{.target = next + static_cast<std::uint64_t>(jump->immediate)};
    }
    if (jump && jump->is(0xff) && (jump->reg & 7U) == 4 && jump->operand->relative) {
        return FrameCall{
            .target = next + static_cast<std::uint64_t>(std::int64_t{jump->operand->displacement}),
            .in_word = true};
    }
    return std::nullopt;
}

std::optional<FramePlace> FrameCode::at(std::uint64_t place) const {
    const auto known =
        place < address_ ? states_.end() : states_.find(static_cast<std::size_t>(place - address_));
    if (known == states_.end() || !contradictory_.empty() ||
        before_heap_top_.contains(known->first)) {
        return std::nullopt;
    }
    const auto& written = known->second.written;
    const auto call = calls_.find(known->first);
    return FramePlace{.pushed = known->second.pushed,
                      .words = static_cast<std::uint32_t>(written.size()),
                      .complete = std::ranges::all_of(written, [](bool one) { return one; }),
                      .on_native_stack = known->second.native,
                      .call = call == calls_.end() ? std::nullopt : std::optional(call->second),
                      .x_registers = x_known_ ? known->second.x.known() : 0,
                      .all_x_registers = x_known_ && known->second.x.complete()};
}

}  // namespace beamdump::beam
