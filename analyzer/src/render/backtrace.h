#pragma once

#include "query/process/backtrace.h"
#include "render/shared/output.h"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace beamdump::render {

struct BacktraceFormat {
    std::size_t chunk_bytes = 64U << 10U;                                 ///< asked for at a time
    std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();  ///< of text, in total
    bool exact = false;  ///< text with the VM's own bytes, whatever encoding they are in
};

/// The VM's own text. Every chunk is written at once. Returns, like the other two, whether the text
/// was cut at max_bytes.
bool backtrace_text(Output& output, query::Backtrace& backtrace, const BacktraceFormat& format);

/// A line for each frame, with file and line, and below it a line for each y register.
bool backtrace_lines(Output& output, query::Backtrace& backtrace, const BacktraceFormat& format);

/// The frames; max_bytes bounds the text of the terms. schemas/json/backtrace.schema.json
bool backtrace_json(Output& output, query::Backtrace& backtrace, const BacktraceFormat& format);

}  // namespace beamdump::render
