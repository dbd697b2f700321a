#pragma once

#include <libvm/beam/search/image_search.h>
#include <libvm/beam/vm/vm.h>

namespace beamdump::beam {

/// A piece of code that the JIT registered for debuggers.
struct JitRange {
    std::string name;  ///< "erts_beamasm:normal_exit/0"
    Address begin = 0;
    Address end = 0;
};

/// One entry's contents (beam_jit_metadata.cpp, OTP 25 to 29; jit/x86/beam_asm.cpp, OTP 24): a
/// module's code, or the emulator's.
struct JitModule {
    std::string name;
    Address begin = 0;
    std::uint64_t bytes = 0;
    std::vector<JitRange> ranges;
};

/// The code that the JIT registered for gdb at its start (every build for Linux does).
struct JitSelf {
    Address descriptor = 0;          ///< __jit_debug_descriptor
    Address normal_exit = 0;         ///< where a process's first function returns to; 0 in OTP 24
    std::vector<JitModule> modules;  ///< the code that modules share, and that of erts_beamasm
};

/// Contents of a module's entry. kImplausible if it is not one.
Result<JitModule> parse_jit_module(std::span<const std::byte> entry);

/// The same of OTP 24, whose entries have another form.
Result<JitModule> parse_jit_module_of_24(std::span<const std::byte> entry);

/// The address of normal_exit from the emulator's entry; nullopt if the entry is a module's.
std::optional<Address> parse_jit_emulator(std::span<const std::byte> entry);

/// Finds the descriptor by its shape, and reads what was registered before any Erlang code.
Result<JitSelf> find_jit_self(Vm& vm, const ImageSearch& search);

/// The value of a global with the address of shared code (such as beam_normal_exit); nullopt if the
/// JIT registered no such piece.
std::optional<Address> code_point(const JitSelf& jit, std::string_view global);

}  // namespace beamdump::beam
