#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace beamdump {

/// The kind of a failure; decides the exit status and what a caller may do about it.
enum class ErrorCode : std::uint8_t {
    kUsage,         ///< invalid arguments
    kIo,            ///< the operating system refused a read or write
    kNoSpace,       ///< the disk (or quota) is full
    kClosedPipe,    ///< the reader of the output closed it
    kExists,        ///< the output exists already
    kPermission,    ///< not allowed
    kNotFound,      ///< no such process, file, table, module...
    kNotABeam,      ///< the target is not an Erlang VM
    kNoLayout,      ///< none for the node's release
    kUnsupported,   ///< a release, layout or feature that this version cannot read
    kTargetDied,    ///< the target exited while we were reading it
    kImplausible,   ///< the target's memory is inconsistent, or the layout is wrong
    kUnmapped,      ///< no memory at that address
    kNotADump,      ///< the file is something else
    kNewerVersion,  ///< a dump of a newer major version
    kTruncated,     ///< the file ends too early
    kCorrupt,       ///< a checksum or a bound does not hold
    kAbsent,        ///< known not to be in this dump
    kLimit,         ///< a stated limit was reached
    kChanged,       ///< the target changed what was being copied
};

/// A failure: one sentence for the user, saying what, where (address or offset, size), why and,
/// where something can be done about it, what to do.
struct Error {
    ErrorCode code = ErrorCode::kIo;
    std::string message;
};

template <typename T>
using Result = std::expected<T, Error>;

/// Shorthand for `return fail(code, fmt::format(...))`.
inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
    return std::unexpected(Error{code, std::move(message)});
}

/// Prefixes an error's sentence with what was being done: "reading atoms: cannot read ...".
inline std::unexpected<Error> wrap(std::string_view doing, Error error) {
    error.message.insert(0, std::string(doing) + ": ");
    return std::unexpected(std::move(error));
}

}  // namespace beamdump
