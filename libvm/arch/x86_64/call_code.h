#pragma once

#include <libvm/arch/common/call_code.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

/// How compiled code of x86-64 calls native code and comes back, and how it makes frames, read off
/// its bytes (jit/x86/beam_asm.hpp, instr_common.cpp, instr_bif.cpp, OTP 25 to 29). Places are
/// offsets in `code`.
namespace beamdump::arch::x86_64 {

/// See arch::fragment_call(). `lea rsp, [rbx - N]` leads to the thread's own stack, which ends at
/// the scheduler's registers; behind the call the stack's top is read from the structure.
std::optional<FragmentCall> fragment_call(Code code, std::uint64_t begin, Called called,
                                          const TopFields& fields);

/// Where the first `call REGISTER` from a place on ends: FF D0 to FF D7.
std::optional<std::size_t> behind_register_call(Code code, std::size_t from);
/// Whether the two bytes before a return address are the end of such a call, behind a prefix for r8
/// to r15.
bool is_register_call(std::span<const std::byte, 2> code);

/// The first `call [rip + N]` from a place on. A `call N` that stands for one has two bytes less.
struct MemoryCall {
    std::size_t behind = 0;
    std::int32_t displacement = 0;  ///< from there to the word
};
std::optional<MemoryCall> memory_call(Code code, std::size_t from);

/// Where `mov rsp, [r13 + stop]` is: the stack's top was in the structure during a call. `stop`:
/// the field's offset.
std::optional<std::size_t> stack_from_structure(Code code, std::uint32_t stop);
/// The register that keeps the stack's top during a call (E_saved, beam_asm.hpp).
enum class SavedStack : std::uint8_t {
    kRbp,  ///< OTP 25 to 29
    kR12,  ///< OTP 24
};
/// Whether code behind a call begins with `mov rsp, REGISTER`, and which it is.
std::optional<SavedStack> stack_from_register(Code code);
/// Whether code behind a call goes on with the tops of stack and heap from registers: it begins
/// with `mov rsp, REGISTER`, and has no `mov r15, [r13 + htop]` (emit_leave_runtime<>()).
bool keeps_tops(Code code, std::uint32_t htop);

/// Bytes before the end of a call that say how many x registers are live.
inline constexpr std::size_t kLiveBefore = 14;
/// How many x registers are live where code calls the fragment that collects, which ends with the
/// code given: `mov ecx, N` or `xor ecx, ecx`, up to three bytes of padding, and the call
/// (emit_gc_test()).
std::optional<std::uint64_t> live_before_call(std::span<const std::byte, kLiveBefore> code);

/// The bytes that the last instruction of `code` to make a frame takes from the stack: `sub rsp, N`
/// (emit_allocate). Nothing if there is none.
std::optional<std::uint32_t> last_frame_bytes(Code code);

/// Where the JIT's fragment that calls BIFs (call_light_bif_shared) goes on if a collection is due
/// after the BIF: the offset of the place that most of its conditional jumps lead to, if the
/// fragment calls a function of the emulator directly behind it and nowhere else. There the
/// process's registers are as in its own code, with the heap's top after the BIF
/// (emit_call_light_bif_shared()). Nothing: the code is another.
std::optional<std::size_t> collection_branch(Code code);

}  // namespace beamdump::arch::x86_64
