#pragma once

#include "query/process/opened_process.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace beamdump::query {

enum class RootKind : std::uint8_t { kStack, kArgument, kDictionary, kMessage, kOther };

/// The name of a kind in texts and JSON: stack, argument, dictionary, message, other.
std::string_view root_kind_text(RootKind kind);

/// How paths begin with the state of a gen_server, whichever register it is in.
inline constexpr std::string_view kStateRoot = "state";

/// A root of a process's terms.
struct HeapRoot {
    RootKind kind = RootKind::kOther;
    std::uint64_t word = 0;
    std::uint64_t frame = 0;     ///< stack: 0 is the current function
    std::uint64_t index = 0;     ///< y or x register; message: among all entries of the queues
    std::uint64_t key_word = 0;  ///< dictionary
    bool is_state = false;       ///< stack: the state of a gen_server (behaviour_state())
    /// Stack: the frame's function. Other: the name of the process's field.
    std::string name;
};

struct RootVisits {
    std::uint64_t undecoded_messages = 0;  ///< in external format: without words
    std::uint64_t malformed = 0;           ///< words of dictionary or stack that are not roots
};

/// Which words are told: those that lead to objects, or the others too (but catches).
enum class RootWords : bool { kObjects, kAll };
/// Whether the messages are told, whose records must all be read for it.
enum class RootMessages : bool { kTold, kLeftOut };

/// Calls `visit` with every root of a process, those of the runtime's collector (erl_gc.c,
/// setup_rootset, OTP 25.2.3): y registers by frame, argument registers, dictionary, the fields
/// that hold terms, messages. While a message is visited, the context reads its fragments; words
/// read before are invalid then. An error of `visit` ends the visit.
Result<RootVisits> visit_roots(Dump& dump, OpenedProcess& process,
                               const std::function<Result<void>(const HeapRoot&)>& visit,
                               RootWords which = RootWords::kObjects,
                               RootMessages messages = RootMessages::kTold);

}  // namespace beamdump::query
