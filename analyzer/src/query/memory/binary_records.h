#pragma once

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <functional>

namespace beamdump::query {

/// Visits all reference-counted binaries of the dump, each address once, with its last record.
/// Memory: 3 bits for each word of the pages that their structures are in, beyond the limit in
/// temporary files. Ends when `visit` returns false.
Result<void> visit_binaries(Dump& dump, const InputLimits& limits,
                            const std::function<Result<bool>(const records::Binary&)>& visit);

}  // namespace beamdump::query
