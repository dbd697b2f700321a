#pragma once

#include <libdump/write/dump_writer.h>

#include <records.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::capture {

/// Notified at intervals of the capture's progress.
struct Progress {
    std::string_view phase;  ///< "processes", "literals", ...
    std::uint64_t done = 0;
    std::optional<std::uint64_t> total;
    std::uint64_t bytes_read = 0;     ///< from the target
    std::uint64_t bytes_written = 0;  ///< to the output
};

class ProgressListener {
  public:
    ProgressListener() = default;
    ProgressListener(const ProgressListener&) = delete;
    ProgressListener& operator=(const ProgressListener&) = delete;
    virtual ~ProgressListener() = default;
    virtual void update(const Progress& progress) = 0;
};

struct CaptureReport {
    DumpWriterStats written;
    records::Totals totals;
    records::CaptureCost cost;
    std::vector<std::string> warnings;
    std::string node_name;
    std::string otp_release;
    bool cut_off = false;  ///< what was read was itself incomplete: a core that was cut off
};

}  // namespace beamdump::capture
