#pragma once

#include <libdump/term/term_context.h>

#include <string>
#include <vector>

namespace beamdump::crash {

/// The terms of one process of a crash dump, read from its text when they are asked for: words of
/// its heap, and all that terms refer to, but for code.
class LateTerms : public TermContext {
  public:
    /// What could not be read so far, a sentence each.
    [[nodiscard]] virtual std::vector<std::string> missing() const = 0;
};

}  // namespace beamdump::crash
