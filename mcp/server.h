#pragma once

#include <libdump/base/error.h>
#include <mcp/session.h>

namespace beamdump::mcp {

/// Hands the lines of `input` to the session, until it ends and all that was asked is answered, or
/// until the reader of `output` has gone, to which the session writes. Both non-owning.
Result<void> serve(Session& session, int input, int output);

}  // namespace beamdump::mcp
