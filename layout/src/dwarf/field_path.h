#pragma once

#include "file/layout_file.h"

#include <libdump/base/error.h>

#include <elfutils/libdw.h>
#include <string_view>

namespace beamdump::layout {

/// What a C path such as "u.initial" or "sig_qs.first" leads to in a structure.
struct Place {
    Field field;
    bool flexible = false;  ///< an array of no fixed length: `field.bytes` is of one element
};

/// Follows a path of member names with dots between; members of members without a name count as
/// the structure's own, as in C. Errors: kNotFound where a name is missing, kUnsupported for a
/// bit-field (a layout has no bits) and for DWARF that does not say offset or size plainly.
Result<Place> find_place(Dwarf_Die structure, std::string_view path);

}  // namespace beamdump::layout
