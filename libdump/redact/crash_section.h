#pragma once

#include <libdump/base/error.h>
#include <libdump/redact/atom_names.h>

#include <cstddef>
#include <span>

namespace beamdump::redact {

/// Hides the values in a section of a crash dump's text, in place: `section` is a serialized
/// CrashSection. What remains, by kind and by the names of lines, is in docs/redaction.md; all else
/// becomes x, but for the ends of lines.
Result<void> hide_crash_section(std::span<std::byte> section, const AtomNames& atoms);

}  // namespace beamdump::redact
