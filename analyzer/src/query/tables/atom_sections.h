#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <functional>
#include <string>

namespace beamdump::query {

/// Visits the atoms of a crash dump's section `=atoms`, the newest first (atom.c, dump_atoms(); OTP
/// 25 to 29), each with its index where `count`, the number of all, is as large as their number.
/// The last line of a text that is cut off is not read. Returns how many there are; 0: the text has
/// no such section.
Result<std::uint64_t> visit_atom_sections(
    Dump& dump, const std::string& file, std::uint64_t count,
    const std::function<void(std::uint32_t index, const std::string& text)>& visit);

}  // namespace beamdump::query
