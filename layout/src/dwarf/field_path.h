#pragma once

#include "file/layout_file.h"

#include <libdump/base/error.h>

#include <elfutils/libdw.h>
#include <string_view>

namespace beamdump::layout {

/// The member of a structure at a C path such as "u.initial" or "sig_qs.first".
struct Place {
    Field field;
    bool flexible = false;  ///< a flexible array member: `field.bytes` is of one element
};

/// Resolves a path of member names separated by dots; anonymous members are searched as in C.
/// Errors: kNotFound for a missing name, kUnsupported for a bit-field (a layout has no bits) and
/// for DWARF without plain offset or size.
Result<Place> find_place(Dwarf_Die structure, std::string_view path);

}  // namespace beamdump::layout
