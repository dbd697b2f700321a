#pragma once

#include <libdump/base/error.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace beamdump {

/// A record as a module defines it. Names as they are, in UTF-8.
struct RecordDefinition {
    std::string tag;
    std::vector<std::string> fields;
};

/// The records of a compiled module.
struct BeamRecords {
    /// False: the file has no abstract code, so that its records are unknown: it was compiled
    /// without debug_info, stripped, its debug information is encrypted or another compiler's.
    bool has_information = false;
    std::vector<RecordDefinition> records;
};

/// Reads the record definitions of a .beam file's abstract code: chunk Dbgi, else Abst
/// (beam_lib(3), erl_abstract_code.erl, erl_parse's abstract form of `-record`, OTP 25.2.3
/// to 29.1.1). The file, and the term in a chunk, may be compressed. Native records are not among
/// them.
///
/// kCorrupt: it is not a .beam file, or breaks off; kLimit: it unpacks to more than 256 MiB.
/// Memory: what it unpacks to. Forms that are not as expected are passed over.
Result<BeamRecords> beam_records(std::span<const std::uint8_t> file);

}  // namespace beamdump
