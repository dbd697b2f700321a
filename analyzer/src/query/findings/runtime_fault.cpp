#include "query/findings/runtime_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace beamdump::query {

namespace {

struct Sign {
    FaultClass of;
    std::string_view part;  ///< of the slogan
    bool first = false;     ///< the slogan begins with it
};

constexpr std::string_view kDataWords =
    "the runtime found data that cannot be, in its own tables or in the memory of a process: a NIF "
    "or driver that writes where it must not, faulty memory of the machine, or a defect of the "
    "runtime";

/// More special ones first.
constexpr auto kSigns = std::to_array<Sign>({
    // sys_drivers.c, forker_driver
    {FaultClass::kHelper, "erl_child_setup"},
    // erl_process.c, erts_continue_exit_process()
    {FaultClass::kProcess, "System process ", true},
    // dist.c, dist_port_commandv(); io.c; erl_gc.c, erts_next_heap_size(); utils.c
    {FaultClass::kLimit, "Absurdly large "},
    {FaultClass::kLimit, "no next heap size found", true},
    {FaultClass::kLimit, "Internal error: System limit", true},
    {FaultClass::kLimit, "Max limit for ets tabled too high", true},
    // erl_init.c, load_preloaded()
    {FaultClass::kCode, "Failed to find preloaded code", true},
    {FaultClass::kCode, "Failed loading preloaded module", true},
    // erl_time_sup.c
    {FaultClass::kTime, "time stepped backwards"},
    // beam_catches.c, beam_emu.c, beam_debug.c, erl_db_util.c, erl_map.c, external.c, utils.c and
    // others, where a tag, header, index or state is none of those that there are
    {FaultClass::kData, "nternal error"},
    {FaultClass::kData, "Internal data structure error"},
    {FaultClass::kData, "Internal unicode error"},
    {FaultClass::kData, "nexpected op code"},
    {FaultClass::kData, "nexpected opcode"},
    {FaultClass::kData, "meta op", true},
    {FaultClass::kData, "invalid packing op"},
    {FaultClass::kData, "bad term"},
    {FaultClass::kData, "bad header"},
    {FaultClass::kData, "bad primary tag"},
    {FaultClass::kData, "bad tag for"},
    {FaultClass::kData, "bad u bif", true},
    {FaultClass::kData, "bad hashmap type"},
    {FaultClass::kData, "bad map header type"},
    {FaultClass::kData, "Unknown hashmap subsubtag", true},
    {FaultClass::kData, "nvalid tag"},
    {FaultClass::kData, "Bad object on"},
    {FaultClass::kData, "Bad refc found"},
    {FaultClass::kData, "Bad node type found", true},
    {FaultClass::kData, "Wild pointer found", true},
    {FaultClass::kData, "Wild stack pointer"},
    {FaultClass::kData, ": Stack overflow"},
    {FaultClass::kData, ": Stack underflow"},
    {FaultClass::kData, "Overrun stack and heap"},
    {FaultClass::kData, "heap overrun by"},
    {FaultClass::kData, "buffer overflow: "},
    {FaultClass::kData, "fence overwritten"},
    {FaultClass::kData, "clobbered"},
    {FaultClass::kData, "Uninitialized HAlloc'ed memory", true},
    {FaultClass::kData, "Damaged process dictionary", true},
    {FaultClass::kData, "in process dictionary at position"},
    {FaultClass::kData, "Catch not found", true},
    {FaultClass::kData, "beam_catches_delmod", true},
    {FaultClass::kData, "Could not find named tab", true},
    {FaultClass::kData, "Reference to non-existing ", true},
    {FaultClass::kData, "Trying to constant-copy non constant", true},
    {FaultClass::kData, "Non-literal empty tuple found", true},
    {FaultClass::kData, "not equal to source"},
    {FaultClass::kData, "Failed to convert term to ", true},
    {FaultClass::kData, "invalid type in seq_trace", true},
    {FaultClass::kData, "invalid send result", true},
    {FaultClass::kData, "Invalid aux_work value", true},
    {FaultClass::kData, "Invalid wakeup request value", true},
    {FaultClass::kData, "Invalid port task type", true},
    {FaultClass::kData, "Missing data in ", true},
    {FaultClass::kData, "ERROR: Memory block", true},
    {FaultClass::kData, "driver_system_info(", true},
    // socket_util.c; erl_bif_port.c; an instruction that the JIT has no code for
    {FaultClass::kData, "Assertion failed: "},
    {FaultClass::kData, "erl_bif_port.c, line "},
    {FaultClass::kData, "NYI: ", true},
    // erl_init.c, erts_thr_fatal_error(): "Failed to create thread: eagain (11)"; erl_process.c
    {FaultClass::kSystem, "Failed to ", true},
    {FaultClass::kSystem, "Fatal error in ", true},
    {FaultClass::kSystem, "Can't allocate ", true},
    {FaultClass::kSystem, "getrusage(", true},
    // memory that the allocators do not give
    {FaultClass::kSystem, "Out of virtual memory in ", true},
    // erl_poll.c of Windows
    {FaultClass::kSystem, "Standby signalled by more threads", true},
    {FaultClass::kSystem, "Unexpected event in break_waiter", true},
});

std::string words_of(FaultClass of, std::string_view slogan) {
    switch (of) {
        case FaultClass::kData:
            return std::string(kDataWords);
        case FaultClass::kHelper:
            return "its helper erl_child_setup, which starts programs for ports and os:cmd/1, had "
                   "ended or could not be reached: the runtime does not go on without it";
        case FaultClass::kSystem:
            return fmt::format("the operating system refused what the runtime needs: {}", slogan);
        case FaultClass::kProcess:
            return "a process of the runtime itself ended, which it does not go on without";
        case FaultClass::kLimit:
            return "something was larger than the runtime can hold";
        case FaultClass::kCode:
            return "code that is part of the runtime could not be loaded: its files do not belong "
                   "together";
        case FaultClass::kTime:
            return "the operating system's clock went backwards, which a monotonic clock must not";
    }
    std::unreachable();
}

}  // namespace

std::optional<RuntimeFault> runtime_fault_of(std::string_view slogan) {
    while (slogan.ends_with('\n') || slogan.ends_with('\r') || slogan.ends_with('.')) {
        slogan.remove_suffix(1);
    }
    const auto* const sign = std::ranges::find_if(kSigns, [slogan](const Sign& one) {
        return one.first ? slogan.starts_with(one.part) : slogan.contains(one.part);
    });
    if (sign == kSigns.end()) {
        return std::nullopt;
    }
    return RuntimeFault{sign->of, words_of(sign->of, slogan)};
}

}  // namespace beamdump::query
