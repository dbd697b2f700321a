#pragma once

#include <libdump/base/error.h>
#include <libdump/term/record_names.h>

#include <cstdint>
#include <optional>
#include <string>

namespace beamdump::query {

/// What was read of .beam files.
struct BeamFilesRead {
    std::uint64_t files = 0;
    std::uint64_t without_information = 0;  ///< compiled without debug information
    std::uint64_t unreadable = 0;
    std::optional<std::string> first_unreadable;  ///< the first such file, and why
};

/// Adds the records of a .beam file, or of all in a directory, not of those below it. kNotFound:
/// there is no such file, or no .beam file in the directory. Files over 64 MiB count as unreadable.
Result<BeamFilesRead> read_beam_records(const std::string& path, RecordNames& records);

}  // namespace beamdump::query
