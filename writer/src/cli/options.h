#pragma once

#include "capture/capture.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace beamdump::cli {

/// The least that --memory can be, and that a capture takes.
inline constexpr std::uint64_t kLeastMemory = std::uint64_t{12} << 20U;

struct Options {
    capture::CaptureOptions capture;
    /// The name of the node, or empty for the only one that runs here, where no pid and no core was
    /// given.
    std::optional<std::string> node;
    std::filesystem::path output;  ///< unused with to_stdout; see made_up_output() if not named
    bool output_named = false;     ///< by the user; else the name is made up
    bool to_stdout = false;
    bool force = false;
    bool quiet = false;
    /// Samples are taken for so long before the capture.
    std::optional<std::chrono::milliseconds> profile;
    bool check = false;    ///< say what a capture would find and cost, and capture nothing
    bool verbose = false;  ///< of --check
    DumpWriterOptions writer;
    bool effort_given = false;  ///< by --level or --threads
    /// What this program may take at most: as given, or by plan_memory().
    std::optional<std::uint64_t> memory;
    bool no_cache = false;    ///< the dump's pages leave the page cache as they are written
    bool small = false;       ///< by plan_memory(): the form that takes least
    std::string memory_plan;  ///< by plan_memory(), for a sentence: "at most 12.0 MiB, ..."
};

/// Requested text (--help, --version) instead of a capture.
struct Answer {
    std::string text;
};

/// The file of a dump for which the user gave no name, in the current directory.
std::filesystem::path made_up_output(const capture::CaptureOptions& capture);

/// Parses the command line (without the program's name). Error: kUsage.
Result<std::variant<Options, Answer>> parse_options(const std::vector<std::string>& arguments);

}  // namespace beamdump::cli
