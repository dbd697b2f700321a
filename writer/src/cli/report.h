#pragma once

#include "capture/capture.h"

#include <string>

namespace beamdump::cli {

/// Lines for the user: what was captured, and what it cost the node. `output`: the name to show.
std::string report_text(const capture::CaptureReport& report, const std::string& output);

/// Whether some processes could not be captured.
bool incomplete(const capture::CaptureReport& report);

}  // namespace beamdump::cli
