#pragma once

#include <libvm/fit/content.h>

namespace beamdump::fit {

/// The candidates for a part from two neighbours, without duplicates: both contents and, if
/// constants and structures of the part change independently, the constants of one with the
/// structures of the other. One candidate if the neighbours agree.
std::vector<Content> of_neighbours(const std::vector<Content>& neighbours);

/// The known variations of one structure between releases: a member is added or removed, and all
/// members after it move. For each content, each of its structures (and those of the same name in
/// the other contents) is cut at each field, and the fields from there on move by a few words up or
/// down, provided that no two fields overlap. No duplicates.
std::vector<Content> shifted(const std::vector<Content>& contents);

/// Each content combined with each term scheme that this version can read.
std::vector<Content> with_term_schemes(const std::vector<Content>& contents);

}  // namespace beamdump::fit
