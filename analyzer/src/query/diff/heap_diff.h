#pragma once

#include "query/diff/diff.h"

#include <libdump/base/error.h>

#include <string>
#include <vector>

namespace beamdump::query {

/// What grew inside one process: roots by kind and each, kinds of terms, record tags, sets of map
/// keys, and paths to large terms. Sizes are those of `heap`, in bytes; shares are of the process's
/// memory at the end. A dump in which the process is not, or in which its terms are withheld, has
/// none of it. kUsage: a pid, of dumps of different runs. kNotFound: fewer than two dumps have it.
/// Memory: a heap report of each dump, with 1000 lines of each list.
Result<DumpsDiff> diff_heaps(const std::vector<DiffInput>& inputs, const std::string& process,
                             const DiffOptions& options);

}  // namespace beamdump::query
