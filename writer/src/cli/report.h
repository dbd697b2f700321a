#pragma once

#include "capture/capture.h"

#include <string>

namespace beamdump::cli {

/// What was captured and what it cost the node, in lines for the user. `output`: as to be named.
std::string report_text(const capture::CaptureReport& report, const std::string& output);

/// Whether some processes could not be captured.
bool incomplete(const capture::CaptureReport& report);

}  // namespace beamdump::cli
