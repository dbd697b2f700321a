#pragma once

#include <libdump/base/budget.h>
#include <libdump/base/byte_sink.h>
#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace beamdump::crash {

struct ExportOptions {
    std::string_view program_version;  ///< written in the head of the text
    bool sensitive = false;            ///< also the terms of processes flagged sensitive
    InputLimits limits;                ///< of marks
};

/// Progress of the export.
struct ExportProgress {
    std::string_view phase;  ///< "processes"
    std::uint64_t done = 0;
    std::optional<std::uint64_t> total;
    std::uint64_t bytes = 0;  ///< of text so far
};
using ExportListener = std::function<void(const ExportProgress&)>;

/// Totals of the export and what the text lacks.
struct ExportReport {
    std::uint64_t processes = 0;
    std::uint64_t inconsistent = 0;  ///< processes without terms: their copy is void
    std::uint64_t sensitive = 0;     ///< processes whose terms are withheld
    std::uint64_t unwritten = 0;     ///< parts of terms that could not be written
    std::uint64_t partial_binaries = 0;
    std::uint64_t bytes = 0;
};

/// Writes a dump in the VM's own text format, version 0.5, which crashdump_viewer of OTP 25, 27 and
/// 29 reads. Reads the dump three times. Memory: the node's fun table and module names; mark bits
/// (one a word of one process's heap and of the literals; in files beyond the options' limit); 64
/// bytes a level of nesting of one term. Does not commit the sink.
Result<ExportReport> write_crash_dump(Dump& dump, const ExportOptions& options, ByteSink& sink,
                                      const ExportListener& listener);

}  // namespace beamdump::crash
