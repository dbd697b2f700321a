#pragma once

#include <libdump/crash/cache/cache_directory.h>
#include <libdump/crash/import/convert.h>

#include <memory>
#include <string>

namespace beamdump::crash {

/// A crash dump with what was converted of it.
struct OpenedText {
    std::unique_ptr<CrashDump> text;
    ConvertOutcome outcome;
    Descriptor dump;     ///< the converted dump: a file without a name
    bool whole = false;  ///< the heaps of all processes were converted
    std::string kept;    ///< what the cache did, for statistics: "used", "written", or why neither
};

/// Opens a crash dump and converts what was chosen. If its facts are in the cache, the text is not
/// searched for sections; else they are put there. The answer is the same without a cache; a cache
/// that cannot be read or written is not an error. Not from the cache: whole conversions
/// (Heaps::kAll), texts that had to be unpacked or are smaller than CacheChoice::least_bytes.
/// `key`: of an encrypted crash dump.
Result<OpenedText> open_text(const std::filesystem::path& path, const ConvertChoice& choice,
                             const CacheChoice& cache, const CrashDump::Progress& progress,
                             const CrashDump::HeaderSeen& header_seen, const InputLimits& limits,
                             const std::filesystem::path& key = {});

}  // namespace beamdump::crash
