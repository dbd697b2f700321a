#pragma once

#include <libdump/base/architecture.h>
#include <libvm/arch/common/call_code.h>
#include <libvm/arch/common/registers.h>
#include <libvm/memory/memory_source.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace beamdump::arch {

/// The call of a fragment whose code is at `begin`. Nothing: the code is not as expected, or it
/// keeps frame pointers.
std::optional<FragmentCall> fragment_call(Architecture architecture, Code code, std::uint64_t begin,
                                          Called called, const TopFields& fields);

/// Where the first call of what a register has ends: the offset in a native function's code.
std::optional<std::size_t> behind_register_call(Architecture architecture, Code code);

/// How many bytes before the end of a call live_before_call() is given, and how many x registers
/// are live there, where code calls the fragment that collects (emit_gc_test()).
std::size_t live_before_bytes(Architecture architecture);
std::optional<std::uint64_t> live_before_call(Architecture architecture, Code code);

/// Whether the first instructions behind a call of native code load the Erlang stack's top from the
/// process's structure: the call has left it there.
bool takes_stack_from_structure(Architecture architecture, Code code, const TopFields& fields);

/// Whether the code before a return address is a call of what a register says. On aarch64 that is
/// so for the emulator's own functions too, whose address has just been put into it.
bool calls_register(Architecture architecture, Code code);

/// The bytes that the last instruction of `code` to make a frame takes from the Erlang stack.
/// Nothing: there is none.
std::optional<std::uint32_t> last_frame_bytes(Architecture architecture, Code code);

/// Of a thread in native code; `registers`: the address of its scheduler's registers, at which the
/// stack of native code ends. Nothing: its frames do not lead there.
std::optional<NativeReturns> native_returns(Architecture architecture,
                                            const ThreadRegisters& thread, std::uint64_t registers,
                                            memory::MemorySource& memory);

/// Whether a call of a fragment pushes its return address to the Erlang stack.
constexpr bool pushes_returns(Architecture architecture) {
    return architecture == Architecture::kX86_64;
}

}  // namespace beamdump::arch
