#pragma once

#include "fit/content.h"

namespace beamdump::fit {

/// The contents that two neighbours have of a part, each once: both, and, where constants and
/// structures of a part change on their own, one's constants with the other's structures. One,
/// where they agree.
std::vector<Content> of_neighbours(const std::vector<Content>& neighbours);

/// What is known to vary of one structure from release to release: members come and go, and all
/// behind them move. Each content with each of its structures, and with the other contents' of the
/// same name, cut at each field and everything from there on moved by some words up or down, as far
/// as no field then overlaps another. None that is the same as another.
std::vector<Content> shifted(const std::vector<Content>& contents);

/// Each content with each scheme of terms that this version can read.
std::vector<Content> with_term_schemes(const std::vector<Content>& contents);

}  // namespace beamdump::fit
