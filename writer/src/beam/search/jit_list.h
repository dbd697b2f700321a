#pragma once

#include "beam/search/image_search.h"
#include "beam/vm/vm.h"

namespace beamdump::beam {

/// A piece of code that the JIT told debuggers of.
struct JitRange {
    std::string name;  ///< "erts_beamasm:normal_exit/0"
    Address begin = 0;
    Address end = 0;
};

/// One entry's contents (beam_jit_metadata.cpp, OTP 25 to 29): a module's code, or the emulator's.
struct JitModule {
    std::string name;
    Address begin = 0;
    std::uint64_t bytes = 0;
    std::vector<JitRange> ranges;
};

/// What the JIT told debuggers of itself while it started (its list for gdb, which every build for
/// Linux fills).
struct JitSelf {
    Address descriptor = 0;          ///< __jit_debug_descriptor
    Address normal_exit = 0;         ///< where a process's first function returns to
    std::vector<JitModule> modules;  ///< the code that modules share, and that of erts_beamasm
};

/// Contents of an entry of a module. kImplausible: it is not one.
Result<JitModule> parse_jit_module(std::span<const std::byte> entry);

/// Where normal_exit is, by the contents of the emulator's entry; nothing: it is a module's.
std::optional<Address> parse_jit_emulator(std::span<const std::byte> entry);

/// Finds the descriptor by its shape, and reads what was registered before any Erlang code.
Result<JitSelf> find_jit_self(Vm& vm, const ImageSearch& search);

/// What a global that holds the address of shared code (beam_normal_exit and the like) would hold;
/// nothing where the JIT named no such piece.
std::optional<Address> code_point(const JitSelf& jit, std::string_view global);

}  // namespace beamdump::beam
