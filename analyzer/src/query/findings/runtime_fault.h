#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::query {

/// What the runtime ended itself for, by the slogan of a crash dump.
enum class FaultClass : std::uint8_t {
    kData,     ///< it found data of its own, or of a process, that cannot be
    kHelper,   ///< erl_child_setup, which starts programs for it, had gone
    kSystem,   ///< the operating system refused something
    kProcess,  ///< a process of the runtime itself ended
    kLimit,    ///< something was larger than the runtime can hold
    kCode,     ///< its own code cannot be loaded
    kTime,     ///< the clock went backwards
};

struct RuntimeFault {
    FaultClass of = FaultClass::kData;
    std::string words;  ///< what follows "The node ended as "; no full stop
};

/// nullopt: a slogan of another kind, such as the node's own of erlang:halt/1. From the calls of
/// erts_exit() that write a dump, by what is constant in their texts: in the sources of OTP 25.2.3
/// and 27.3.4 (those of erl_exit() before OTP 19 are the same), and in the machine code of 29.1.1.
std::optional<RuntimeFault> runtime_fault_of(std::string_view slogan);

}  // namespace beamdump::query
