#pragma once

#include "query/facts/dump_facts.h"
#include "query/process/process_line.h"

#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// How it came that the dump's node no longer ran, as far as the dump tells.
enum class NodeEnd : std::uint8_t {
    kSignal,     ///< a signal ended its process
    kRunning,    ///< it ran when the dump was taken
    kCrashDump,  ///< the VM ended by itself and wrote a crash dump
    kUnknown,    ///< a core that was read by a program that did not look for a signal
};

/// A function that native code was in.
struct NativeFrameLine {
    std::uint64_t address = 0;
    std::optional<std::string> file{};               ///< its path; nothing: in no file
    std::string name{};                              ///< the file's name alone
    std::optional<std::string> build_id{};           ///< of the file
    std::optional<std::uint64_t> offset{};           ///< of the address in the file
    std::optional<std::string> function{};           ///< nothing: the file has no name for it
    std::optional<std::uint64_t> function_offset{};  ///< bytes from the function's start
    bool is_vm = false;                              ///< the file is the emulator

    /// "read_through_null+0x7 in dying_nif.so", "beam.smp+0x1a2b"
    [[nodiscard]] std::string text() const;
};

/// A place in Erlang code.
struct ErlangFrameLine {
    std::uint64_t address = 0;
    std::optional<std::string> function{};  ///< module:function/arity
    std::optional<std::string> file{};
    std::optional<std::uint32_t> line{};
};

struct CrashThreadLine {
    std::int64_t id = 0;
    std::optional<std::string> name{};
    std::optional<std::string> scheduler_kind{};   ///< "normal", "dirty_cpu", "dirty_io"
    std::optional<std::uint64_t> scheduler{};      ///< its number, as `schedulers` has it
    std::optional<std::string> scheduler_state{};  ///< as `schedulers` has it
    std::optional<ProcessLine> process{};          ///< that its scheduler had
    std::optional<bool> in_system_call{};
    /// Name and value of each; nothing where they are not known, or values are hidden.
    std::vector<std::pair<std::string_view, std::uint64_t>> registers{};
    std::vector<NativeFrameLine> native_frames{};  ///< the innermost first
    bool native_whole = false;                     ///< none further out is missing
    std::optional<std::string> called{};           ///< the BIF or NIF that the process was in
    std::optional<std::string> called_kind{};      ///< "bif", "nif"
    std::vector<ErlangFrameLine> erlang_frames{};  ///< the innermost first
    bool erlang_more = false;                      ///< further ones are left out
};

/// A cause that the facts speak for.
struct CrashCause {
    std::string_view id;
    std::string sentence;
};

struct Crash {
    DumpFacts dump;
    NodeEnd end = NodeEnd::kUnknown;
    std::optional<std::string> slogan{};  ///< of kCrashDump
    // These of kSignal only.
    int signal = 0;
    std::string signal_name{};  ///< "SIGSEGV"
    std::optional<int> code{};
    std::optional<std::string> code_text{};  ///< "SEGV_MAPERR: nothing is mapped at the address"
    std::optional<std::uint64_t> fault_address{};
    std::optional<std::string> fault_mapping{};  ///< "rw- /path"
    std::optional<std::int64_t> sender_pid{};
    std::optional<std::uint64_t> sender_user{};
    std::optional<std::string> abort_text{};
    std::optional<CrashThreadLine> died{};
    std::vector<CrashThreadLine> others{};
    std::vector<CrashCause> causes{};  ///< the likeliest first
};

/// How the dump's node died. Any dump but a recording has an answer.
Result<Crash> read_crash(Dump& dump, const std::string& file);

}  // namespace beamdump::query
