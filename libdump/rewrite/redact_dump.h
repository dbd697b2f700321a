#pragma once

#include <libdump/base/byte_sink.h>
#include <libdump/base/error.h>
#include <libdump/read/dump_reader.h>
#include <libdump/redact/kept_terms.h>
#include <libdump/redact/policy.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace beamdump {

struct RedactedDump {
    std::uint64_t file_bytes = 0;
    std::string unread;  ///< a sentence, if words were overwritten that were not the VM's
};

struct RedactOptions {
    int level = 1;         ///< of zstd
    unsigned threads = 2;  ///< that compress
    std::string tool_version;
    /// What the policy's lists of terms keep; null where it has none.
    std::shared_ptr<const redact::KeptTerms> kept;
    /// Told the bytes of the decompressed stream that are done, in each of two passes, and all of
    /// both.
    std::function<void(std::uint64_t done, std::uint64_t total)> on_progress;
};

/// Writes a dump to `sink` that has the records of the one that `reader` has, of the same sizes and
/// at the same places, without the values that the policy hides. Reads it twice, frame by frame:
/// first which atoms name code and where the node's memory is. Memory: that of a reader and a
/// DumpWriter, a bit for each atom, and 48 bytes for each page of literals.
///
/// kUnsupported for records and fields that are not known, and for a policy with lists of terms
/// where the dump was converted from a crash dump;
/// kTruncated or kCorrupt for a dump that is not whole.
Result<RedactedDump> redact_dump(DumpReader reader, std::unique_ptr<ByteSink> sink,
                                 const redact::Policy& policy, const RedactOptions& options);

}  // namespace beamdump
