#pragma once

#include <libdump/base/error.h>
#include <libdump/crash/text/text_source.h>

#include <string>

namespace beamdump::crash {

/// What a text and the program must have in common with those that made an entry.
struct TextKey {
    std::string file;   ///< of the file: an entry with another `whole` is stale
    std::string whole;  ///< also size, times, a hash of samples of the text, and the program
};

/// The key of a text whose identity that is.
Result<TextKey> key_of(const TextSource& text, const TextSource::Identity& identity);

/// Whether a later change would also change the times in `identity`: it was not changed within the
/// last two seconds, the granularity of the coarsest file systems' times.
bool has_settled(const TextSource::Identity& identity);

}  // namespace beamdump::crash
