#pragma once

#include <libdump/base/budget.h>
#include <libdump/base/byte_sink.h>
#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace beamdump::crash_dump {

struct Options {
    bool sensitive = false;  ///< also the terms of processes that are flagged so
    InputLimits limits;      ///< of marks
};

/// How far the text is.
struct Progress {
    std::string_view phase;  ///< "processes"
    std::uint64_t done = 0;
    std::optional<std::uint64_t> total;
    std::uint64_t bytes = 0;  ///< of text so far
};
using Listener = std::function<void(const Progress&)>;

/// What is not in the text.
struct Report {
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
Result<Report> write_crash_dump(Dump& dump, const Options& options, ByteSink& sink,
                                const Listener& listener);

}  // namespace beamdump::crash_dump
