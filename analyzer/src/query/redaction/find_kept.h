#pragma once

#include "query/process/every_process.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/model/dump.h>
#include <libdump/redact/kept_terms.h>
#include <libdump/redact/policy.h>

namespace beamdump::query {

/// Looks at all terms of a dump for what a policy's lists by module, record, struct and key keep.
///
/// Of a list: what it names, and all that this leads to in the same process, row, persistent term
/// or module's literals; but nothing that a hide-list names or that what it names leads to, from
/// wherever. Of binaries only those that lie on a heap as a whole: a part of another one does not
/// tell what else is in that. Of terms that are not here, or that are those of a void process,
/// nothing is kept. Memory: KeptTerms', and 6 bits for each word of the pages that the
/// terms of one process, of all rows, or of all literals are in, beyond the limit in temporary
/// files.
Result<redact::KeptTerms> find_kept_terms(Dump& dump, const redact::Policy& policy,
                                          const InputLimits& limits, const ReadProgress& progress);

}  // namespace beamdump::query
