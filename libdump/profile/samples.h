#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace beamdump {

/// A function by the indices of its names.
struct FunctionAtoms {
    std::uint32_t module = 0;
    std::uint32_t function = 0;
    std::uint32_t arity = 0;
    auto operator<=>(const FunctionAtoms&) const = default;
};

/// Who a process is.
struct ProcessIdentity {
    std::uint64_t owner_id = 0;
    std::optional<std::string> registered{};
    std::optional<std::uint32_t> registered_atom{};  ///< its index
    std::optional<std::string> label{};              ///< proc_lib:set_label/1, OTP 27 on
    std::optional<std::string> initial_call{};
    std::optional<FunctionAtoms> initial_call_atoms{};
    std::optional<std::string> current_function{};  ///< as process_info(current_function)
    std::string status{};                           ///< as process_info(status) names it
};

/// How it is known what a sample shows.
enum class SampleKind : std::uint8_t {
    kExact,         ///< Erlang code: the function and all callers are of the sample's moment
    kFunctionOnly,  ///< the function is of the moment, its callers are not known
    kReadAfter,     ///< the function is of the moment; its callers were read afterwards
    kAllReadAfter,  ///< function and callers were read afterwards
    kProcessOnly,   ///< only the process is known
    kEmulator,      ///< a scheduler's own work, for no process
    kOtherThread,   ///< a thread that runs no processes
    kReading,       ///< not a sample: where the process of a scheduler last paused
};

/// Why callers are not known, or not even the function.
enum class UnknownCallers : std::uint8_t {
    kNone,
    kHalfMadeFrame,     ///< the innermost frame was just being made
    kBetweenFunctions,  ///< in code that counts to no function
    kNoStack,           ///< the words are not those of a stack
    kWentOn,            ///< the native call had ended before the stack was read
    kNotUnwound,        ///< native frames do not lead to the code that called
    kDirty,             ///< the stack of a dirty scheduler's process could not be read
};

/// The thread that a sample is of.
struct SampledThread {
    pid_t id = 0;
    std::string name{};
    std::optional<std::string> scheduler{};  ///< "scheduler 1", "dirty CPU scheduler 1"
};

/// What one sample shows.
struct SampleStack {
    SampleKind kind = SampleKind::kOtherThread;
    UnknownCallers unknown = UnknownCallers::kNone;
    std::vector<std::string> native{};  ///< native functions, the innermost first
    std::string fragment{};             ///< of shared code that called these; empty: not known
    std::vector<std::string> frames{};  ///< Erlang functions, the innermost first
    bool more = false;                  ///< further callers are left out
    std::optional<ProcessIdentity> process{};
    std::uint64_t structure = 0;  ///< the process's; 0: not known
    std::uint64_t call_top = 0;   ///< of its heap when the native code was called; 0: not known
    /// The BIF that a fragment has called has returned: other native code runs for its caller,
    /// nearly always a collection.
    bool after_bif = false;
    std::uint64_t stack_wanted = 0;  ///< bytes of a copy that would show where this was called

    /// Whether the last frame is the process's first function.
    [[nodiscard]] bool callers_known() const {
        return unknown == UnknownCallers::kNone && !frames.empty() && !more;
    }
};

/// Whether a native function has no name in its file: the name is only a place in it, or that it is
/// in none.
bool has_no_name(const std::string& name);

/// What code is called that is in no file.
inline constexpr std::string_view kOutsideFiles = "[native code]";

}  // namespace beamdump
