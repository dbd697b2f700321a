#pragma once

#include "query/process/opened_process.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <functional>
#include <string>

namespace beamdump::query {

enum class RootKind : std::uint8_t { kStack, kArgument, kDictionary, kMessage, kOther };

/// The name of a kind in texts and JSON: stack, argument, dictionary, message, other.
std::string_view root_kind_text(RootKind kind);

/// A word from which a process's terms hang.
struct HeapRoot {
    RootKind kind = RootKind::kOther;
    std::uint64_t word = 0;
    std::uint64_t frame = 0;     ///< stack: 0 is the current function
    std::uint64_t index = 0;     ///< y or x register; message: among all entries of the queues
    std::uint64_t key_word = 0;  ///< dictionary
    /// Stack: what the frame belongs to. Other: the name of the process's field.
    std::string name;
};

struct RootVisits {
    std::uint64_t undecoded_messages = 0;  ///< in external format: no words to look at
    std::uint64_t malformed = 0;           ///< words of dictionary or stack that are not roots
};

/// Tells `visit` every root of a process as the runtime's collector knows them (erl_gc.c,
/// setup_rootset, OTP 25.2.3): y registers by frame, argument registers, dictionary, the fields
/// that hold terms, messages. While a message is visited, the context reads its fragments; nothing
/// read before may be kept then. An error of `visit` ends it with that error.
Result<RootVisits> visit_roots(Dump& dump, OpenedProcess& process,
                               const std::function<Result<void>(const HeapRoot&)>& visit);

}  // namespace beamdump::query
