#pragma once

#include "capture/capture.h"

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace beamdump::cli {

struct Options {
    capture::CaptureOptions capture;
    std::filesystem::path output;  ///< unused with to_stdout
    bool output_named = false;     ///< by the user; else the name is made up
    bool to_stdout = false;
    bool force = false;
    bool quiet = false;
    bool check = false;  ///< say what a capture would find and cost, and capture nothing
    DumpWriterOptions writer;
};

/// Requested text (--help, --version) instead of a capture.
struct Answer {
    std::string text;
};

/// Parses the command line (without the program's name). Error: kUsage.
Result<std::variant<Options, Answer>> parse_options(const std::vector<std::string>& arguments);

}  // namespace beamdump::cli
