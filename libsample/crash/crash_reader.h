#pragma once

#include <libvm/beam/processes/yield_state.h>
#include <libvm/beam/vm/vm.h>
#include <libvm/target/core/core_file.h>
#include <libvm/target/process/threads.h>

#include <records.pb.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::sampler {

/// What the kernel says of a process that dies, besides its memory.
struct CrashFacts {
    target::CoreSignal signal;
    std::vector<target::ThreadRegisters> threads{};  ///< the one that died first; at least one
    std::map<pid_t, std::string> thread_names{};     ///< as far as they are known
};

struct CrashReading {
    std::vector<records::Crash> pages{};  ///< at least one, with the thread that died
    /// The structure of the process that the thread ran, and its state, where that is certain: it
    /// was in the middle of a BIF or NIF.
    std::optional<std::pair<memory::Address, beam::YieldState::State>> state{};
    std::vector<std::string> missing{};  ///< a sentence for each part that could not be read
};

/// Reads how a node died: what the thread that died ran, in native code by .eh_frame, and in Erlang
/// code by the stack of its process. The process does not move. Only kTargetDied is an error: what
/// cannot be read is absent.
Result<CrashReading> read_crash(beam::Vm& vm, const CrashFacts& facts);

}  // namespace beamdump::sampler
