#pragma once

#include <libvm/fit/layout_part.h>

#include <map>
#include <string>
#include <vector>

namespace beamdump::fit {

/// The content of one part of a layout: a candidate for the node's release.
struct Content {
    std::map<std::string, beam::StructLayout, std::less<>> structs;
    std::map<std::string, std::uint64_t, std::less<>> constants;
    std::string from;  ///< "otp-25", or what was changed of it
};

/// Whether two contents are equal.
bool same(const Content& one, const Content& other);

/// The parts of a layout, in the order of layout_parts().
std::vector<Content> split(const beam::Layout& layout);

/// The common content of a part in two releases: structures and constants that both have, with
/// fields at equal offsets. The smaller size is kept, so that no read goes beyond a structure.
Content agreed(const Content& one, const Content& other);

/// Whether two releases do not differ in anything that a reader uses: see agreed(). A constant that
/// only one of them has belongs to a feature that the other lacks.
bool agree(const Content& one, const Content& other);

/// A layout of these parts. kUnsupported: they are inconsistent (a field beyond its structure).
Result<beam::Layout> compose(const std::string& name, const std::string& release,
                             Architecture architecture, const std::string& source,
                             const std::vector<Content>& parts);

}  // namespace beamdump::fit
