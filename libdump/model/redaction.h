#pragma once

#include <libdump/base/error.h>
#include <libdump/read/dump_reader.h>

#include <optional>
#include <string>

namespace beamdump {

/// How values were hidden in a dump, as a part of a sentence: `structure, while it was captured`,
/// or `text, afterwards`; of several redactions the last. nullopt if none were, or if the dump has
/// no Capture record.
Result<std::optional<std::string>> redaction_of(DumpReader& reader);

}  // namespace beamdump
