#pragma once

#include <libdump/format/text_counts.h>
#include <libdump/term/term_context.h>

namespace beamdump::crash {

/// The terms of one process of a crash dump, read lazily from its text: the words of its heap and
/// all that terms refer to, except code.
class LazyTerms : public TermContext {
  public:
    /// Reads the heap's lines that were not read yet, so that met() has what is unusable of them
    /// all.
    virtual Result<void> read_rest() = 0;
    /// Objects that terms referred to so far and whose lines could not be used.
    [[nodiscard]] virtual TextCounts met() const = 0;
};

}  // namespace beamdump::crash
