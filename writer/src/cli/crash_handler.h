#pragma once

#include <libdump/base/error.h>
#include <libsample/crash/crash_reader.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace beamdump::cli {

/// Where dumps of crashes go where nothing else is said.
inline constexpr std::string_view kCrashFolder = "/var/lib/beamdump";
/// How long memory is copied while the kernel holds a dying process, where nothing else is said.
inline constexpr std::chrono::seconds kCrashTimeout{30};
/// How much longer the capture may take in all before it is ended.
inline constexpr std::chrono::seconds kCrashGrace{10};

/// The command line of a handler of core_pattern: `--crashed PID OPTION... -- PATTERN`.
struct CrashCommand {
    pid_t pid = 0;
    std::vector<std::string> capture;  ///< the arguments for the capture
    std::vector<std::string>
        next;  ///< the words of the core_pattern from before; none: there was none
    std::chrono::seconds timeout = kCrashTimeout;
};

/// Nothing: the arguments are not those of a handler, or those that handle_crash() gives the
/// capture. Wrong options are the capture's to refuse: the core is passed on all the same.
std::optional<CrashCommand> crash_command(const std::vector<std::string>& arguments);

/// Handles a crash (core(5)): where the process is an Erlang VM, this program captures it in a
/// process of its own, which is ended after `timeout` and kCrashGrace; then the core is passed on
/// unchanged to whom it went before, also if the capture failed. `input`: the core, from the
/// kernel. Returns the exit status.
int handle_crash(const CrashCommand& command, int input);

/// What the kernel says of a process that dies: by the core's first bytes, in a descriptor of a
/// file, and the names of its threads. kNotFound: no signal ends it. Others as CoreFile::of_head().
Result<sampler::CrashFacts> crash_facts(int head, pid_t pid);

/// Makes the folder where it is not there, and room in it: of its dumps of crashes the oldest go
/// until `keep` less one are left. Returns the dump's path and how many bytes it may have so that
/// `free_bytes` of the disk stay free. kIo, kNoSpace.
struct CrashOutput {
    std::filesystem::path path;
    std::uint64_t most_bytes = 0;
};
Result<CrashOutput> crash_output(const std::filesystem::path& folder, pid_t pid, std::uint64_t keep,
                                 std::uint64_t free_bytes);

}  // namespace beamdump::cli
