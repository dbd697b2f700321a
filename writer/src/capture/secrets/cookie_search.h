#pragma once

#include "capture/secrets/cookie.h"

#include <libvm/beam/tables/modules.h>

namespace beamdump::capture {

/// Adds the cookies that the node has now: of its command line and environment, and of the process
/// registered as `auth`. kImplausible, kUnmapped: what `auth` holds could not be read, as when it
/// is at work; what was found is added all the same.
Result<void> find_cookies(beam::Vm& vm, beam::CodeLookup& code, Cookies& cookies);

}  // namespace beamdump::capture
