#pragma once

#include "fit/layout_part.h"

#include <map>
#include <string>
#include <vector>

namespace beamdump::fit {

/// What one part of a layout says: a candidate for the node's.
struct Content {
    std::map<std::string, beam::StructLayout, std::less<>> structs;
    std::map<std::string, std::uint64_t, std::less<>> constants;
    std::string from;  ///< "otp-25", or what was changed of it
};

/// Whether they say the same.
bool same(const Content& one, const Content& other);

/// The parts of a layout, in the order of layout_parts().
std::vector<Content> split(const beam::Layout& layout);

/// What of a part two releases agree on: structures and constants that both have, where the fields
/// are at the same places; of sizes the smaller, so that nothing beyond a structure is read.
Content agreed(const Content& one, const Content& other);

/// Whether two releases differ in nothing that a reader would notice: see agreed(). Constants that
/// only one of them has belong to things that the other does not know.
bool agree(const Content& one, const Content& other);

/// A layout of these parts. kUnsupported: they do not make one (a field beyond its structure).
Result<beam::Layout> compose(const std::string& name, const std::string& release,
                             const std::string& source, const std::vector<Content>& parts);

}  // namespace beamdump::fit
