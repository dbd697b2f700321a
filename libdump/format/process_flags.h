#pragma once

#include <libdump/format/erts_version.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump {

/// A word of flags in the structure of a process or scheduler (erl_process.h), or of a function.
enum class FlagWord : std::uint8_t {
    kState,        ///< ERTS_PSFLG_*, without the priorities in its lowest six bits
    kProcess,      ///< F_*
    kSignalQueue,  ///< FS_*
    kTrace,        ///< F_TRACE_*, by the names that erlang:trace/3 has for them
    kAuxWork,      ///< ERTS_SSI_AUX_WORK_*, of a scheduler
    kBreakpoint,   ///< ERTS_BPF_* of a function (beam_bp.c), by the names of erlang:trace_pattern/3
};

/// What a runtime system calls a bit of such a word, without the prefix: SUSPENDED. nullopt: it has
/// no name there, or it has different ones in different versions and this one is unknown.
/// Sources: erl_process.h of OTP 24.3.4.16, 25.2.3, 25.3.2.7 to 25.3.2.9, 26.0, 26.1.2, 26.2.5,
/// 27.3.4 and 29.1.1; in which version a bit changed, erts/doc/src/notes.xml (OTP-18737).
std::optional<std::string_view> flag_name(FlagWord word, unsigned bit, ErtsVersion version);

/// The names of the bits that are set, lowest first, as "Internal State" of a crash dump has them:
/// `ACTIVE | OFF_HEAP_MSGQ`. A bit without a name is BIT_31. Empty: none is set.
std::string flag_names(FlagWord word, std::uint64_t bits, ErtsVersion version);

/// In the trace flags of a process that nobody traces, if it is sensitive.
inline constexpr std::uint64_t kSensitiveTraceFlag = std::uint64_t{1} << 3U;

/// The lowest six bits of a process's state: three priorities of two bits.
inline constexpr unsigned kStatePriorityBits = 2;
inline constexpr unsigned kFirstStateFlag = 3 * kStatePriorityBits;
inline constexpr std::string_view kBetweenFlags = " | ";

/// "Internal State" of a crash dump as the word that it was printed from (erl_process_dump.c,
/// erts_dump_process_state()). nullopt: it has a name that no release of 25 to 29 has.
std::optional<std::uint32_t> state_bits_of_text(std::string_view text);

/// "Scheduler Sleep Info Aux Work" of a crash dump, as above. Empty: 0.
std::optional<std::uint32_t> aux_work_of_text(std::string_view text);

}  // namespace beamdump
