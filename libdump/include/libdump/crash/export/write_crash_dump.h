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
    std::string_view program_version;  ///< this one's, as the text's head names it
    bool sensitive = false;            ///< also the terms of processes that are flagged so
    InputLimits limits;                ///< of marks
};

/// How far the text is.
struct ExportProgress {
    std::string_view phase;  ///< "processes"
    std::uint64_t done = 0;
    std::optional<std::uint64_t> total;
    std::uint64_t bytes = 0;  ///< of text so far
};
using ExportListener = std::function<void(const ExportProgress&)>;

/// What is not in the text.
struct ExportReport {
    std::uint64_t processes = 0;
    std::uint64_t inconsistent = 0;  ///< processes without terms, as their copy is void
    std::uint64_t sensitive = 0;     ///< processes whose terms are withheld
    std::uint64_t unwritten = 0;     ///< places in the terms
    std::uint64_t partial_binaries = 0;
    std::uint64_t bytes = 0;
};

/// Writes a dump in the VM's own text format, version 0.5, which crashdump_viewer of OTP 25, 27 and
/// 29 reads. Passes over the dump three times. Memory: the node's fun table and module names, marks
/// (one process's heap and the literals, one bit a word; in files beyond the options' bytes), 64
/// bytes a level of nesting of one term. Does not commit the sink.
Result<ExportReport> write_crash_dump(Dump& dump, const ExportOptions& options, ByteSink& sink,
                                      const ExportListener& listener);

}  // namespace beamdump::crash
