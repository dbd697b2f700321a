#pragma once

#include "query/heap/term_reading.h"
#include "render/shared/output.h"

#include <libdump/base/error.h>

#include <cstddef>
#include <optional>

namespace beamdump::render {

/// Bytes of the whole term's text in JSON, and of a term without parts, unless more are asked for.
inline constexpr std::size_t kShownTermBytes = 80;

struct TermFormat {
    /// Show the text of the whole term instead of its parts: its first bytes, or all of it for 0.
    std::optional<std::size_t> term_bytes;
    std::size_t width = 80;  ///< columns of that text; 0: all on one line
};

/// The term, its sizes and parts; or its text laid out in lines. Says whether the text was cut.
Result<bool> term_text(Output& output, query::TermReading& reading, const TermFormat& format);
/// The term, its sizes and parts, and its text on one line.
Result<bool> term_json(Output& output, query::TermReading& reading, const TermFormat& format);

}  // namespace beamdump::render
