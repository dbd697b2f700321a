#pragma once

#include <libdump/base/error.h>
#include <libdump/crash/text/text_source.h>

#include <string>

namespace beamdump::crash {

/// Identifies a text and the program: an entry is used only where both are those that made it.
struct TextKey {
    std::string file;   ///< of the file: an entry with another `whole` is stale
    std::string whole;  ///< also size, times, a hash of samples of the text, and the program
};

/// The key of a text; `identity` is the text's.
Result<TextKey> key_of(const TextSource& text, const TextSource::Identity& identity);

/// Whether a later change would also change the times in `identity`: it was not changed within the
/// last two seconds, the granularity of the coarsest file systems' times.
bool has_settled(const TextSource::Identity& identity);

}  // namespace beamdump::crash
