#pragma once

#include "capture/secrets/cookie.h"

#include <libvm/beam/vm/steady_read.h>

#include <optional>
#include <string>
#include <vector>

namespace beamdump::beam {
class CodeLookup;
}

namespace beamdump::capture {

/// The node's cookies, searched for several times in a capture: before a stop, with the node's
/// facts, and at the end for those that were set meanwhile.
class CookieFinder {
  public:
    /// Adds the cookies that the node has now. That they cannot be read is no error but a warning;
    /// kTargetDied is one.
    Result<void> find(beam::Vm& vm, beam::CodeLookup& code, const beam::Moving& moving);

    [[nodiscard]] Cookies& cookies() { return cookies_; }
    /// Sentences that say which cookies may be in the dump.
    [[nodiscard]] std::vector<std::string> warnings() const;

  private:
    Cookies cookies_;
    bool found_ = false;           // what `auth` holds was read once
    std::optional<Error> unread_;  // why it never was
};

}  // namespace beamdump::capture
